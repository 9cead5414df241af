"""Requests for stories, replies to them, and the rule."""

from dataclasses import astuple

import pytest

from course_pkg.text.stories.grammar import StoryGrammar
from course_pkg.text.stories.lexicon import LEXICON
from course_pkg.text.stories.requests import Request, Requests

REQUESTS = Requests(StoryGrammar(n_distractions=0))
ASKED = "Now tell me of Mia and a kite ."
MIA = Request("Mia", "kite", tuple(ASKED.split()))
STORY = (
    "Mia ran to the lake . She was sad . She had a red kite . "
    "At noon Mia left the lake with the red kite . At home , she was glad ."
)
WELL = STORY.split()


def test_a_sampled_reply_is_a_story_about_what_its_request_asks_for():
    for request, reply in REQUESTS.sample(60, seed=5):
        verdict = REQUESTS.judge(request, reply)
        assert verdict.is_story and verdict.is_asked
        assert len(request.words) == 9
        assert request.hero in request.words and request.thing in request.words
        assert request.text.split() == list(request.words)


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (WELL, (True, True, True)),
        ([*WELL[:-2], "gloomy", "."], (True, True, False)),
        ([word.replace("kite", "drum") for word in WELL], (True, False, True)),
        (["Tom" if word == "Mia" else word for word in WELL], (False, False, True)),  # "She"
        ([*WELL[:-1]], (False, True, True)),  # without its end
        ([*WELL, "Now"], (False, True, True)),
        (["blue" if word == "red" and n > 20 else word for n, word in enumerate(WELL)],
         (False, True, True)),  # the kite changes its colour
        ([], (False, False, False)),
    ],
)  # fmt: skip
def test_rule_judges_each_demand_apart(reply, expected):
    verdict = REQUESTS.judge(MIA, reply)
    assert astuple(verdict) == expected
    assert verdict.is_good == all(expected)


def test_lists_hold_three_to_six_requests_and_no_story():
    for text in REQUESTS.lists(40, seed=3):
        words = text.split()
        assert len(words) % 9 == 0 and 3 <= len(words) // 9 <= 6
        requests = [words[i : i + 9] for i in range(0, len(words), 9)]
        assert all(words[0] in ("Now", "Write", "Who") for words in requests)
        assert all(set(words) & set(LEXICON["hero"]) for words in requests)


def test_draws_repeat_and_differ_by_seed():
    assert REQUESTS.sample(3, seed=1) == REQUESTS.sample(3, seed=1) != REQUESTS.sample(3, seed=2)
    assert REQUESTS.lists(3, seed=1) == REQUESTS.lists(3, seed=1) != REQUESTS.lists(3, seed=2)


@pytest.mark.parametrize("draw", [REQUESTS.sample, REQUESTS.lists])
def test_draws_reject_a_negative_number(draw):
    with pytest.raises(ValueError, match="n is -1"):
        draw(-1, seed=1)
