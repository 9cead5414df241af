"""The challenges on unseen stories: what is withheld, and what no answer can gain."""

import math

import numpy as np
import pytest

from assignments import unseen_stories
from autograder.authoring.checks import Case


@pytest.fixture(scope="module")
def drawn():
    """What one class is asked, and what comes next in each story."""
    return unseen_stories.draw_beginnings(np.random.default_rng(3))


def rows_for(drawn, prob):
    """Give what comes next this probability, and the rest to all others alike."""
    inputs, following = drawn
    rows = np.full((len(following), inputs["vocab_size"]), (1 - prob) / (inputs["vocab_size"] - 1))
    rows[np.arange(len(rows)), following] = prob
    with np.errstate(divide="ignore"):
        return np.log(rows)


def test_what_comes_next_is_not_among_what_the_sandbox_is_sent(drawn):
    inputs, following = drawn
    check = unseen_stories.prediction_check("ps0", 1.0)
    (case,) = check.parts[0].inputs(np.random.default_rng(3))
    assert case.inputs == inputs and (case.withheld == following).all()
    assert set(case.inputs) == {"stories", "contexts", "vocab_size", "eos_id"}
    assert Case("", {}).withheld is None
    known = {tuple(story) for story in inputs["stories"]}
    beginnings = [context for context in inputs["contexts"] if len(context) > 25]
    whole = sum(tuple(context) in known for context in inputs["contexts"])
    assert len(beginnings) > 500 and whole < 0.1 * len(following)


def test_words_are_numbered_anew_for_each_class(drawn):
    other, _ = unseen_stories.draw_beginnings(np.random.default_rng(4))
    counts = [
        np.bincount([i for s in d["stories"] for i in s], minlength=d["vocab_size"])
        for d in (drawn[0], other)
    ]
    assert (counts[0].argsort()[-9:] != counts[1].argsort()[-9:]).any()
    assert all(d["eos_id"] not in s for d in (drawn[0], other) for s in d["stories"])


@pytest.mark.parametrize("prob", [0.5, 1 / 127, 1.0])
def test_score_is_the_mean_surprise(drawn, prob):
    rows = rows_for(drawn, prob)
    assert unseen_stories.are_distributions(rows, rows, drawn[0]) is None
    found = unseen_stories.nats_per_token([rows], [drawn[1]])
    assert found == pytest.approx(-math.log(prob), abs=1e-12)


def test_impossible_token_that_has_come_earns_no_rank(drawn):
    with pytest.raises(ValueError, match="had been given the probability 0"):
        unseen_stories.nats_per_token([rows_for(drawn, 0.0)], [drawn[1]])


def test_rows_that_are_no_distributions_are_refused(drawn):
    right = rows_for(drawn, 0.5)
    for wrong in (right + 0.001, np.zeros_like(right), right * np.nan, right + 1e6):
        assert unseen_stories.are_distributions(wrong, right, drawn[0])
    phases = right * 0j
    phases[:, 1:-3:2], phases[:, -2], phases[:, -1] = np.pi * 1j, np.pi / 3 * 1j, -np.pi / 3 * 1j
    for wrong in (
        phases,
        right.astype(np.float32),
        None,
        right[:-1],
        right[:, :-1],
        right.tolist(),
    ):
        assert "no array" in unseen_stories.are_distributions(wrong, right, drawn[0])


def test_numbers_between_two_functions_are_counted_and_the_rest_is_left_behind(drawn):
    challenge = unseen_stories.smallest_model("ps0", "task", "the rest", goal=3.0, seconds=1.0)
    (part,) = challenge.check.parts
    (case,) = part.inputs(np.random.default_rng(3))
    assert case.inputs == {k: v for k, v in drawn[0].items() if k != "contexts"}
    learned = part.probe(lambda **_: [np.ones((3, 4)), np.float64(1 / 3)], case.inputs)
    assert learned[1] == np.float16(1 / 3) and part.judge(learned, [], {}) is None
    for wrong in (3, [3.0], [np.ones(3)], [np.zeros((0, 9), np.float16)]):
        assert part.judge(wrong, [], {}) is not None
    for wrong in (
        [np.full(2, np.inf, np.float16)],
        [np.zeros(1_000_001, np.float16)],
        [np.zeros((), np.float16)] * 1_001,
        [np.zeros((1,) * 5, np.float16)],
    ):
        assert part.judge(wrong, [], {}) is not None

    then = challenge.then([learned])
    (case,) = then.check.parts[0].inputs(np.random.default_rng(3))
    assert set(case.inputs) == {"numbers", "contexts", "vocab_size", "eos_id"}
    assert (case.withheld == drawn[1]).all()
    assert then.score([rows_for(drawn, 0.5)], [case.withheld]) == 13
    with pytest.raises(ValueError, match=r"the perplexity is 4\.000; it may be at most 3\.00"):
        then.score([rows_for(drawn, 0.25)], [case.withheld])
    with pytest.raises(ValueError, match="the perplexity is"):  # of 10^6 nats: no float holds it
        then.score([rows_for(drawn, 0.5) - 1e6], [case.withheld])


def test_small_model_is_ranked_by_surprise_and_its_numbers_are_counted_here(drawn):
    challenge = unseen_stories.best_small_model("ps0", "task", "the rest", most=12, seconds=1.0)
    (case,) = challenge.check.parts[0].inputs(np.random.default_rng(3))
    assert "contexts" not in case.inputs and case.withheld is None
    rows = rows_for(drawn, 0.5)
    fits = challenge.then([[np.ones((3, 4), np.float16)]])
    (asked,) = fits.check.parts[0].inputs(np.random.default_rng(3))
    assert fits.check.target == "predict_small" and set(asked.inputs) == {
        *("numbers", "contexts", "vocab_size", "eos_id")
    }
    assert fits.score([rows], [asked.withheld]) == pytest.approx(math.log(2), abs=1e-12)
    too_many = challenge.then([[np.ones((3, 4), np.float16), np.ones((), np.float16)]])
    with pytest.raises(ValueError, match="13 numbers were learned; at most 12 are allowed"):
        too_many.score([rows], [asked.withheld])


def test_gaps_are_filled_row_by_row_and_the_share_that_is_right_counts():
    challenge = unseen_stories.most_gaps("ps0", "the rest", 1.0)
    (part,) = challenge.check.parts
    (case,) = part.inputs(np.random.default_rng(3))
    mask_id, missing = case.inputs["mask_id"], case.withheld
    assert [story.count(mask_id) for story in case.inputs["gapped"]] == [*map(len, missing)]
    for rows in (missing, [np.array(row) for row in missing]):
        filled = part.probe(lambda rows=rows, **_: rows, case.inputs)
        assert filled == missing and part.judge(filled, missing, case.inputs) is None
    assert challenge.score([missing], [missing]) == 1.0
    half = [[row[0] if i % 2 else mask_id] for i, row in enumerate(missing[:10])]
    assert challenge.score([half], [[row[:1] for row in missing[:10]]]) == 0.5
    for wrong, said in (
        (None, "no list of lists"),
        (missing[:-1], "an id for each of its gaps"),
        ([[*missing[0], 1], *missing[1:]], "an id for each of its gaps"),
        ([[float(i) for i in row] for row in missing], "no whole number"),
    ):
        assert said in part.judge(wrong, missing, case.inputs)
