"""Metrics of tasks with a right answer, against scipy, scikit-learn's formulas and sacrebleu."""

import itertools
import sys

import numpy as np
import pytest
import sacrebleu
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from course_pkg.evaluation.metrics import (
    accuracy,
    alignment_error_rate,
    bleu,
    edit_distance,
    error_rate,
    f1,
    macro_f1,
    matthews,
    pearson,
    rouge,
    span_f1,
    spearman,
)

# Hand-worked: tp 2, fp 1, fn 1, tn 3
PREDICTED = [1, 1, 1, 0, 0, 0, 0]
GOLD = [1, 1, 0, 1, 0, 0, 0]


def test_accuracy_and_f1_match_hand_worked_example():
    assert accuracy(PREDICTED, GOLD) == 5 / 7
    assert f1(PREDICTED, GOLD) == 2 / 3
    assert f1(PREDICTED, GOLD, positive=0) == 3 / 4
    assert macro_f1(PREDICTED, GOLD) == pytest.approx((2 / 3 + 3 / 4) / 2, abs=1e-12)
    assert f1([0, 0], [0, 0]) == 0


def test_answer_that_is_missing_counts_beside_spans():
    assert accuracy([None, (3, 5)], [(1, 2), (3, 5)]) == 1 / 2


@pytest.mark.parametrize(
    "turn",
    [torch.tensor, np.array, lambda items: [torch.tensor(item) for item in items]],
    ids=["tensor", "array", "list of tensors"],
)
def test_metrics_of_tensors_equal_those_of_lists(turn):
    predicted, gold = [2, 1, 1, 0, 2, 0, 0], [1, 1, 0, 1, 2, 0, 0]
    for metric in (accuracy, f1, macro_f1, matthews, pearson, spearman, edit_distance):
        assert metric(turn(predicted), turn(gold)) == metric(predicted, gold) > 0
    spans, right = [(0, 1, 2), (1, 0, 3)], [(1, 0, 3), (2, 2, 2), (0, 1, 2)]
    assert span_f1(turn(spans), turn(right)) == span_f1(spans, right) == 0.8
    assert error_rate([turn([1, 2, 3])], [turn([1, 3])]) == error_rate([[1, 2, 3]], [[1, 3]]) == 0.5
    links, sure = {(0, 1), (1, 1)}, {(1, 1), (2, 0)}
    assert alignment_error_rate(turn([*links]), turn([*sure])) == alignment_error_rate(links, sure)


def test_macro_f1_counts_a_class_that_is_only_predicted():
    assert macro_f1(["a", "b"], ["a", "a"]) == pytest.approx((2 / 3 + 0) / 2, abs=1e-12)


def test_matthews_matches_published_binary_formula():
    # (tp tn - fp fn) / sqrt((tp+fp)(tp+fn)(tn+fp)(tn+fn)): Matthews 1975
    assert matthews(PREDICTED, GOLD) == pytest.approx(
        (2 * 3 - 1) / (3 * 3 * 4 * 4) ** 0.5, abs=1e-12
    )
    assert matthews([1, 1, 1], [0, 1, 0]) == 0


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abc")), min_size=2))
def test_matthews_matches_confusion_matrix_formula_for_three_classes(pairs):
    """Gorodkin's R_K written from the confusion matrix, as scikit-learn's documentation has it."""
    predicted, gold = zip(*pairs, strict=True)
    c, s = sum(p == g for p, g in pairs), len(pairs)
    p = np.array([predicted.count(k) for k in "abc"], dtype=float)
    t = np.array([gold.count(k) for k in "abc"], dtype=float)
    below = (s * s - p @ p) * (s * s - t @ t)
    expected = (c * s - p @ t) / below**0.5 if below else 0.0
    assert matthews(predicted, gold) == pytest.approx(expected, abs=1e-10)


NUMBERS = st.lists(
    st.tuples(st.integers(-5, 5).map(float), st.integers(-9, 9).map(float)), min_size=3
)


@given(NUMBERS)
def test_correlations_match_scipy(pairs):
    x, y = zip(*pairs, strict=True)
    if len(set(x)) == 1 or len(set(y)) == 1:
        assert np.isnan(pearson(x, y)) and np.isnan(spearman(x, y))
        return
    assert pearson(x, y) == pytest.approx(stats.pearsonr(x, y).statistic, abs=1e-10)
    assert spearman(x, y) == pytest.approx(stats.spearmanr(x, y).statistic, abs=1e-10)


def test_bleu_matches_sacrebleu():
    hypotheses = ["the cat sat on a mat", "hello there , world"]
    references = ["the cat sat on the mat", "hello world"]
    expected = sacrebleu.BLEU().corpus_score(hypotheses, [references]).score
    assert bleu(hypotheses, references) == expected
    assert 0 < expected < 100
    assert bleu(references, references) == pytest.approx(100, abs=1e-9)


def test_bleu_says_what_to_install_when_sacrebleu_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "sacrebleu", None)
    with pytest.raises(ImportError, match="pip install sacrebleu"):
        bleu(["a"], ["a"])


def test_bleu_of_several_references_matches_sacrebleu():
    hypotheses = ["the cat sat on a mat by the door", "there is a dog in it"]
    references = [["the cat sat on the mat by a door"], ["a dog is in it", "there is a dog here"]]
    expected = sacrebleu.corpus_bleu(
        hypotheses, [[references[0][0], references[1][0]], [None, references[1][1]]]
    ).score
    assert bleu(hypotheses, references) == expected
    first_alone = bleu(hypotheses, [refs[0] for refs in references])
    assert bleu(hypotheses, references) > first_alone
    with pytest.raises(ValueError, match="item 1 has no reference"):
        bleu(hypotheses, [["a"], []])


def test_rouge_matches_lins_examples():
    """Lin 2004, section 3: S1 is the reference, S2 and S3 are the candidates."""
    reference = "police killed the gunman"
    second, third = "police kill the gunman", "the gunman kill police"
    # Stemmed, killed and kill are one word, so unlike in the paper all four words are shared;
    # in order they are in S2, and only "the gunman" is in S3: its ROUGE-L stays at the paper's 1/2.
    assert rouge([second], [reference]) == pytest.approx(
        {"rouge1": 100, "rouge2": 100, "rougeL": 100}
    )
    # S3's pairs are "the gunman", "gunman kill", "kill police": one of three
    expected = {"rouge1": 100, "rouge2": 100 / 3, "rougeL": 50}
    assert rouge([third], [reference]) == pytest.approx(expected)


def test_rouge_takes_the_best_reference_and_the_mean_of_the_texts():
    one = rouge(["a red bus"], [["the green car", "a red bus stops"]])
    assert one == rouge(["a red bus"], ["a red bus stops"])
    # precision 3/3, recall 3/4
    assert one["rouge1"] == pytest.approx(100 * 6 / 7)
    both = rouge(["a red bus", "nothing"], ["a red bus stops", "shared"])
    assert both["rouge1"] == pytest.approx(one["rouge1"] / 2)


def test_rouge_says_what_to_install_when_its_library_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "rouge_score.rouge_scorer", None)
    with pytest.raises(ImportError, match="pip install rouge-score"):
        rouge(["a"], ["a"])


def recursive_distance(a: str, b: str) -> int:
    """The definition, in exponential time."""
    if not a or not b:
        return len(a) + len(b)
    return min(
        recursive_distance(a[1:], b) + 1,
        recursive_distance(a, b[1:]) + 1,
        recursive_distance(a[1:], b[1:]) + (a[0] != b[0]),
    )


@given(st.text("abc", max_size=5), st.text("abc", max_size=5))
def test_edit_distance_matches_its_definition(a, b):
    assert edit_distance(a, b) == recursive_distance(a, b)


def test_error_rate_weighs_sentences_by_reference_length():
    # one replacement in 2 words, one insertion in 3: 2 edits over 5 reference words
    hypotheses = [["a", "x"], ["p", "q", "r", "s"]]
    assert error_rate(hypotheses, [["a", "b"], ["p", "q", "r"]]) == 2 / 5
    with pytest.raises(ValueError, match="no token"):
        error_rate([["a"]], [[]])


def test_alignment_error_rate_matches_hand_worked_example():
    sure, possible = {(0, 0), (1, 2)}, {(0, 0), (1, 2), (1, 1)}
    # A finds one sure link, one possible one and one wrong one: 1 - (1 + 2) / (3 + 2)
    found = alignment_error_rate({(0, 0), (1, 1), (2, 2)}, sure, possible)
    assert found == pytest.approx(0.4, abs=1e-12)
    assert alignment_error_rate(sure, sure) == 0
    assert alignment_error_rate({(5, 5)}, sure) == 1
    with pytest.raises(ValueError, match=r"sure has \(0, 0\)"):
        alignment_error_rate(sure, sure, {(1, 2)})
    with pytest.raises(ValueError, match="both empty"):
        alignment_error_rate(set(), set())


def test_span_f1_matches_hand_worked_example():
    gold = {(0, 1, 2, "PER"), (0, 4, 4, "LOC")}
    assert span_f1({(0, 1, 2, "PER"), (0, 4, 4, "PER"), (1, 0, 0, "LOC")}, gold) == 2 / 5
    assert span_f1([], []) == 1
    assert span_f1([], gold) == 0


@pytest.mark.parametrize("metric", [accuracy, f1, macro_f1, matthews, pearson, spearman])
def test_metric_rejects_unpaired_items(metric):
    with pytest.raises(ValueError, match="2 predictions for 1 items"):
        metric([1, 2], [1])
    with pytest.raises(ValueError, match="there are 0 items"):
        metric([], [])


def test_alignment_error_rate_lies_between_zero_and_one():
    links = [(0, 0), (0, 1), (1, 0)]
    subsets = [set(c) for n in range(4) for c in itertools.combinations(links, n)]
    for ours, sure in itertools.product(subsets, subsets):
        if ours or sure:
            assert 0 <= alignment_error_rate(ours, sure, set(links)) <= 1
