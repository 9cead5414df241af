"""What is special to problem set 1: its inputs, its examples, and what its notebook shows."""

import numpy as np
import pytest

from autograder.grading.judge import ItemJudge
from tests.assignments.notebooks import run_whole

from .continuation_counts import continuation_counts
from .count_ngrams import count_ngrams
from .inputs import alphabet, continuations, text
from .interpolated_prob import interpolated_prob
from .kneser_ney_prob import kneser_ney_prob
from .problem_set import PROBLEM_SET

JUDGE = ItemJudge()
CHECKS = {check.item: check for check in PROBLEM_SET.checks}


# -- the checks ------------------------------------------------------------------------------------


def test_the_heart_of_each_item_is_worth_three_fifths():
    for check in (one for one in CHECKS.values() if not one.chance):  # whose parts weigh alike
        names = [part.name for part in check.parts]
        heart = {"values", "order 2", "any order"} & set(names)
        worth = sum(part.weight for part in check.parts if part.name in heart)
        assert worth >= 0.6 * sum(part.weight for part in check.parts), check.item


# -- the inputs, against definitions ---------------------------------------------------------------


@pytest.mark.parametrize("kind", ["words", "numbers", "pairs"])
@pytest.mark.parametrize("order", [1, 2, 3])
def test_continuation_counts_match_their_definition(kind, order):
    rng = np.random.default_rng(11)
    tokens, eos = alphabet(kind, 4)
    documents = text(rng, tokens, (9, 0, 5, 2))
    longer = count_ngrams(documents, order + 1, eos)
    made = continuation_counts(longer, order)
    assert made == continuations(documents, order, eos)


def test_inputs_keep_the_contracts():
    for seed in range(5):
        for item in ("ps1_add_k_prob", "ps1_interpolated_prob", "ps1_kneser_ney_prob"):
            for request in JUDGE.requests(CHECKS[item], seed):
                settings, everything = request.inputs["settings"], request.inputs["everything"]
                assert settings["vocab_size"] in (len(set(everything)), 5_000)
                for table in request.inputs["tables"]:
                    assert {w for row in table.values() for w in row} < set(everything)
                assert sum(settings.get("weights", [1.0])) == pytest.approx(1, abs=1e-12)
                assert min(settings.get("weights", [1.0])) > 0
                assert all(0 < d < 1 for d in settings.get("discounts", []))
                assert settings.get("k", 1) > 0
        for request in JUDGE.requests(CHECKS["ps1_sample"], seed):
            assert all(0 <= u < 1 for u in request.inputs["us"])
            # 2e-10: some sums are made to lie 1e-10 below 1.
            assert sum(p for _, p in request.inputs["probs"]) == pytest.approx(1, abs=2e-10)


def test_cost_is_counted_the_same_in_every_draw(right_answers):
    """Growth is measured in operations, not in seconds, so a slow machine changes nothing."""
    check = CHECKS["ps1_count_ngrams"]
    cost = next(part for part in check.parts if part.name == "cost")
    for seed in range(20):
        (case,) = cost.inputs(np.random.default_rng(seed))
        for answer, faster in [
            *((answer, False) for answer in right_answers(check)),
            (
                check.mistake("The text is searched or copied again and again.").implementation,
                True,
            ),
        ]:
            assert cost.probe(answer, case.inputs)[2] is faster


# -- the examples in the text ----------------------------------------------------------------------


def test_examples_by_hand_match_the_package():
    eos, vocab_size = "<eos>", 7
    sentences = [["the", "cat", "sat"], ["the", "cat", "ran"], ["the", "dog", "sat"]]
    unigrams, bigrams = (count_ngrams(sentences, n, eos) for n in (1, 2))
    mix = {"weights": [0.1, 0.3, 0.6], "vocab_size": vocab_size}
    for history, by_hand in [(("the",), 0.4643), (("bird",), 0.1607)]:
        p = interpolated_prob([unigrams, bigrams], history, "cat", **mix)
        assert p == pytest.approx(by_hand, abs=5e-5)  # as printed
    contexts = continuation_counts(bigrams, 1)
    assert contexts == {(): {"the": 1, "cat": 1, "dog": 1, "sat": 2, "ran": 1, eos: 2}}
    discount = {"discounts": [0.5, 0.5], "vocab_size": vocab_size}
    for history, token, by_hand in [
        ((), "bird", 3 / 56),
        ((), "cat", 13 / 112),
        (("the",), "cat", 1.5 / 3 + (0.5 * 2 / 3) * 13 / 112),
        (("bird",), "cat", 13 / 112),
    ]:
        p = kneser_ney_prob([contexts, bigrams], history, token, **discount)
        assert p == pytest.approx(by_hand, abs=1e-12)


# -- the notebook ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("item", "mistake", "message"),
    [
        (
            "count_ngrams",
            "The first tokens of a document have no eos before them.",
            "the first word of a sentence has a history",
        ),
        (
            "count_ngrams",
            "The end of a document is not counted as a target.",
            "the end of a sentence is counted",
        ),
        ("count_ngrams", "The eos at the start is counted as a target.", "the start EOS is given"),
        (
            "kneser_ney_prob",
            "The discount is taken off counts of 0 as well.",
            "a count of 0 has nothing to give up",
        ),
        (
            "kneser_ney_prob",
            "Order 1 is not smoothed, so words never seen are impossible.",
            "is 1/V below order 1",
        ),
        (
            "kneser_ney_prob",
            "After a history that was never seen, everything has probability 0.",
            "after an unseen history P2 is P1",
        ),
    ],
)
def test_visible_tests_name_what_is_wrong(visible_tests, item, mistake, message):
    check = CHECKS[f"ps1_{item}"]
    with pytest.raises(AssertionError, match=message):
        visible_tests(check, check.mistake(mistake).implementation)


@pytest.mark.exhaustive
def test_solution_notebook_runs_whole_and_agrees_with_the_package(release):
    printed, n_pictures = run_whole(release.solution)
    assert "The two Kneser–Ney models agree." in printed
    rows = {
        line[:26].strip(): [float(word) for word in line[26:].split()]
        for line in printed.splitlines()
        if line.startswith(("your ", "the package's "))
    }
    # What the text tells the student to expect, to the digits that it prints.
    assert rows["your Kneser–Ney"] == pytest.approx([67.7, 3.85, 2.47, 2.35, 2.15], rel=5e-3)
    add_k = rows["your add-k"]
    assert add_k[1] < 1.02 * rows["your Kneser–Ney"][1]
    assert add_k[2] < add_k[3] < add_k[4]
    assert n_pictures
