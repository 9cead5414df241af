"""The recorded comparison of a window and n-grams on Wikipedia: its record is whole."""

import math

import pytest

from benchmarks.chapters import window
from course_pkg.results import benchmark
from course_pkg.text.corpora import Corpus

MODELS = {"5-gram", "window of 4", "both"}


@pytest.mark.slow
def test_measure_reports_what_the_record_holds():
    lines = ("the cat sat on the mat .", "the dog sat on the cat .", "the mat is on the dog .")
    text = " ".join(lines * 3)
    corpus = Corpus("toy", "here", "none", "animals", [text] * 30, [text] * 2, [text])
    figures = window.measure(corpus, n_epochs=2)
    assert figures.keys() <= benchmark("window").keys()
    assert set(figures["rows"]) == MODELS
    assert all(row["test_perplexity"] >= 1 for row in figures["rows"].values())
    assert sum(figures["share_by_known_history"]) == pytest.approx(1)
    assert len(figures["valid_perplexity_by_epoch"]) == 2


def test_record_has_a_mixture_better_than_either_and_its_provenance():
    record = benchmark("window")
    perplexity = {name: row["test_perplexity"] for name, row in record["rows"].items()}
    assert perplexity["both"] < min(perplexity["5-gram"], perplexity["window of 4"])
    assert record["command"].startswith("python -m benchmarks.chapters.window")
    assert {"date", "machine", "versions", "n_epochs", "cpu_seconds"} <= record.keys()
    # with weight w on a model, a mixture pays at most log(1 / w) more than this model
    loss = math.log(perplexity["window of 4"]) - math.log(record["weight_of_network"])
    assert math.log(perplexity["both"]) <= loss
