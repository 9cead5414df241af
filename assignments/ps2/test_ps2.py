"""What is special to problem set 2: its inputs, its examples, and what its notebook shows."""

import re

import numpy as np
import pytest
from tokenizers import models

from autograder.authoring.notebooks import defines, is_ungraded_work
from autograder.grading.judge import ItemJudge
from autograder.inside.messages import Failure
from autograder.inside.probe import probe_or_failure
from course_pkg.text.tokenizers.byte_pair import to_printable
from tests.assignments.notebooks import ask, grade, run_cells, run_whole

from .challenge import CHALLENGE, draw_vocabulary
from .count_pairs import count_pairs
from .decode import decode
from .encode import encode
from .encode_word import encode_word
from .inputs import HOSTILE, SPLIT
from .learn_merges import draw_corpora, draw_stops, learn_merges, learning_steps
from .merge_pair import merge_pair
from .problem_set import PROBLEM_SET

JUDGE = ItemJudge()
CHECKS = {check.item: check for check in PROBLEM_SET.checks}


def _cases(item, seed):
    return [request.inputs for request in JUDGE.requests(CHECKS[item], seed)]


# -- the checks ------------------------------------------------------------------------------------


def test_texts_of_many_draws_are_cut_alike_by_both_libraries(right_answers):
    """Rare draws must not cost a student points: accents that two libraries cut differently did."""
    check = CHECKS["ps2_encode"]
    answer, *_ = right_answers(check)
    for seed in range(100, 125):
        for request in JUDGE.requests(check, seed):
            right = ask(request, answer)
            expected = ask(request, check.reference)
            assert right == expected, (seed, request.part, request.inputs)


def test_who_returns_none_refuses_nothing():
    def without_error(ids, vocabulary):
        try:
            return decode(ids, vocabulary)
        except ValueError:
            return None

    verdict = grade(CHECKS["ps2_decode"], without_error, 3)
    (failed,) = (part for part in verdict.parts if not part.passed)
    assert failed.part == "other ids"
    assert failed.message.endswith("there is a result where a ValueError is expected.")


def test_the_heart_of_each_item_is_worth_three_fifths():
    hearts = {
        "ps2_merge_pair": {"values", "runs"},
        "ps2_learn_merges": {"values", "ties"},
        "ps2_encode_word": {"values", "ranks"},
        "ps2_encode": {"values", "borders"},
        "ps2_decode": {"values", "characters"},
    }
    for item, check in CHECKS.items():
        if check.chance:
            continue  # whose parts weigh alike
        heart = hearts.get(item, {"values"})
        worth = sum(part.weight for part in check.parts if part.name in heart)
        assert worth >= 0.6 * sum(part.weight for part in check.parts), item


@pytest.mark.parametrize(
    ("item", "slip", "lost"),
    [
        ("ps2_merge_pair", "The merges go from right to left.", {"runs"}),
        (
            "ps2_learn_merges",
            "Of equally frequent pairs, the one that was counted first is merged.",
            {"ties"},
        ),
        ("ps2_learn_merges", "Rare pairs are merged as well: min_count is not read.", {"stopping"}),
        (
            "ps2_encode",
            "The text is not cut, and merges run across the borders.",
            {"borders", "spaces", "any text"},
        ),
        ("ps2_decode", "Bytes that are no UTF-8 raise an error.", {"broken bytes"}),
    ],
)
def test_one_slip_costs_one_part(item, slip, lost):
    check = CHECKS[item]
    wrong = set()
    for request in JUDGE.requests(check, 11):
        part = next(part for part in check.parts if part.name == request.part)
        expected = probe_or_failure(request, {request.target: check.reference})
        observed = probe_or_failure(request, {request.target: check.mistake(slip).implementation})
        if isinstance(observed, Failure) or part.judge(observed, expected, request.inputs):
            wrong.add(part.name)
    assert wrong
    assert wrong <= lost


@pytest.mark.parametrize("item", ["ps2_learn_merges", "ps2_encode_word", "ps2_encode"])
@pytest.mark.parametrize(
    "wrong", ["The merges go from right to left.", "An id is used for two merges."]
)
def test_what_stands_on_a_wrong_merge_is_wrong_in_every_draw(release, item, wrong):
    """Else it would be luck what the same notebook earns."""
    _, made = run_cells(release.solution)
    made["merge_pair"] = CHECKS["ps2_merge_pair"].mistake(wrong).implementation
    check = CHECKS[item]
    values = next(part for part in check.parts if part.name == "values")
    for seed in range(5):
        requests = [one for one in JUDGE.requests(check, seed) if one.part == values.name]
        assert any(
            values.judge(
                probe_or_failure(request, made),
                probe_or_failure(request, {request.target: check.reference}),
                request.inputs,
            )
            for request in requests
        ), seed


# -- the inputs, against definitions ---------------------------------------------------------------


def test_corpora_have_no_ties_where_ties_are_not_asked_for():
    for seed in range(5):
        for case in draw_corpora(np.random.default_rng(seed)):
            steps = learning_steps(case.inputs["words"], case.inputs["n_tokens"] - 256)
            assert steps
            assert {n_best for _, _, n_best in steps} == {1}


def test_stops_are_one_count_apart():
    for seed in range(5):
        enough, rare, few, full, *_ = draw_stops(np.random.default_rng(seed))
        n_merges = [len(learn_merges(**c.inputs)[1]) for c in (enough, rare, few)]
        assert n_merges[0] > n_merges[1]
        assert n_merges[2] == 2  # one for each word of two letters
        assert full.inputs["n_tokens"] == 256


def test_patterns_lose_nothing_of_any_text():
    characters = "".join(chr(c) for c in range(0x3000) if not 0xD800 <= c < 0xE000)
    for text in [characters, *HOSTILE, " a  b\t\n"]:
        assert "".join(re.findall(SPLIT, text)) == text
    for inputs in _cases("ps2_encode", 3):
        for text in inputs["texts"]:
            assert "".join(re.findall(inputs["pattern"], text)) == text


def test_no_pair_is_learned_twice_and_no_token_made_twice():
    """Else replaying the merges once, and taking the smallest rank each time, could differ."""
    for seed in range(5):
        for item in ("ps2_encode_word", "ps2_encode"):
            for inputs in _cases(item, seed):
                made = [first + second for first, second in inputs["merges"]]
                assert len(set(made)) == len(made)
                assert len(set(inputs["merges"])) == len(inputs["merges"])


def test_ids_match_tokenizers():
    """The expected ids do not only come from our own package."""
    for inputs in [*_cases("ps2_encode_word", 2), *_cases("ps2_encode", 2)]:
        vocabulary, merges = inputs["vocabulary"], inputs["merges"]
        printable = {to_printable(t): i for i, t in enumerate(vocabulary) if isinstance(t, bytes)}
        pairs = [(to_printable(a), to_printable(b)) for a, b in merges]
        library = models.BPE(vocab=printable, merges=pairs)
        for word in inputs.get("words", []):
            ids = [token.id for token in library.tokenize(to_printable(word))]
            assert ids == encode_word(word, vocabulary, merges)
        for text in inputs.get("texts", []):
            pieces = re.findall(inputs["pattern"], text)
            ids = [t.id for p in pieces for t in library.tokenize(to_printable(p.encode()))]
            assert ids == encode(text, vocabulary, merges, inputs["pattern"])


# -- the examples in the text ----------------------------------------------------------------------


def test_examples_by_hand_match_the_package(release):
    _, made = run_cells(release.solution)
    words, merges, vocabulary = made["WORDS"], made["MERGES"], made["toy_vocabulary"]()
    tokens, learned = learn_merges(words, 261, 1)
    assert learned == merges
    assert [*tokens, "<eos>"] == vocabulary
    counts = [step[1:] for step in learning_steps(words, 5)]
    assert counts == [(9, 2), (9, 1), (7, 2), (7, 1), (6, 3)]
    assert count_pairs([[7, 7, 7], [7, 5]], [2, 3]) == {(7, 7): 4, (7, 5): 3}
    assert merge_pair([7, 7, 7, 5], (7, 7), 9) == [9, 7, 5]
    assert encode_word(b"newest", vocabulary, merges) == [110, 260, 257]
    assert made["SPLIT"] == SPLIT
    text = "low  lowest!"
    assert re.findall(made["SPLIT"], text) == ["low", " ", " lowest", "!"]
    ids = encode(text, vocabulary, merges, made["SPLIT"])
    assert ids == [259, 32, 32, 259, 257, 33]
    assert decode([195, 259], vocabulary) == "\ufffdlow"


def test_numbers_of_the_question_in_words_are_right():
    losses, bytes_per_token = np.array([3.2, 4.5]), np.array([2.5, 4.0])
    # As printed in the model answer: three digits.
    assert np.exp(losses) == pytest.approx([24.5, 90.0], abs=0.05)
    assert losses / bytes_per_token / np.log(2) == pytest.approx([1.85, 1.62], abs=5e-3)


# -- the notebook ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("item", "mistake", "message"),
    [
        ("merge_pair", "The merges go from right to left.", "the first two become 9"),
        (
            "merge_pair",
            "The last id is lost if it is in no pair.",
            "an id in no pair stays, at the end too",
        ),
        (
            "learn_merges",
            "Of equally frequent pairs, the one with the largest ids is merged.",
            "the smaller ids win",
        ),
        (
            "learn_merges",
            "A pair that occurs exactly min_count times is not merged any more.",
            "occurs 7 times or more",
        ),
        (
            "encode_word",
            "The leftmost known pair is merged first, whatever its rank.",
            "the smallest rank comes first",
        ),
        (
            "encode",
            "The text is not cut, and merges run across the borders.",
            "no merge crosses the border",
        ),
        (
            "encode",
            "The text is split at its spaces, and they are lost.",
            "the space has an id too",
        ),
        ("decode", "Each token is made text on its own.", "join before you decode"),
        (
            "decode",
            "Bytes that are no UTF-8 raise an error.",
            "broken UTF-8 must not raise an error",
        ),
    ],
)
def test_visible_tests_name_what_is_wrong(visible_tests, item, mistake, message):
    check = CHECKS[f"ps2_{item}"]
    with pytest.raises(AssertionError, match=message):
        visible_tests(check, check.mistake(mistake).implementation)


def test_challenge_is_answered_in_a_cell_that_does_nothing_else(release):
    target = CHALLENGE.check.target
    (cell,) = (cell for cell in release.student.cells if defines(cell.source, target))
    namespace = {"learn_merges": learn_merges}
    exec(cell.source, namespace)
    assert is_ungraded_work(cell) and namespace["PSEUDONYM"] == ""
    assert namespace[target]({b"aab": 2}, 257, 1)[1] == [(b"a", b"a")]


def test_challenge_asks_everybody_for_the_size_that_its_page_states():
    ((case,), (other,)) = (draw_vocabulary(np.random.default_rng(seed)) for seed in (0, 1))
    words, n_merges = case.inputs["words"], case.inputs["n_tokens"] - 256
    assert f"{n_merges} merges from a vocabulary of about {round(len(words), -2):,}" in (
        CHALLENGE.task
    )
    assert words != other.inputs["words"]


@pytest.mark.exhaustive
def test_solution_notebook_runs_whole_and_agrees_with_the_package(release):
    printed, n_pictures = run_whole(release.solution)
    for claim in (
        "merges equal the package's: True",
        "ids equal the package's and the library's: True",
        "every text comes back: True",
    ):
        assert claim in printed
    rows = {
        line[:18].strip(): [float(word) for word in line[18:].split()]
        for line in printed.splitlines()
        if line.startswith(("held-out text", "German and Greek"))
    }
    # What the text tells the student to expect; the texts of another Python are not quite the same.
    held_out = rows["held-out text"]
    assert (held_out[0], held_out[1], held_out[-1]) == pytest.approx((1, 1.23, 2.69), abs=0.06)
    assert rows["German and Greek"][-1] == pytest.approx(1.32, abs=0.05)
    assert n_pictures
