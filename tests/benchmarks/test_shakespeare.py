"""The counted baseline on Shakespeare's characters, against KenLM on the same text."""

import math

import pytest

from benchmarks import shakespeare


@pytest.mark.shared_data
def test_ngrams_of_characters_match_kenlm(shared_data, monkeypatch):
    monkeypatch.setenv("COURSE_DATA", str(shared_data))
    tokenizer, train, rest = shakespeare.split()
    assert (len(train), len(rest)) == (1_003_854, 111_540)  # nanoGPT's split
    # KenLM, order 5, one long line: perplexity 4.7649; its numbers are rounded to 32 bits.
    assert shakespeare.count(tokenizer, train, rest, 5) == pytest.approx(math.log(4.7649), abs=1e-4)


def test_recipes_have_the_published_sizes():
    cpu, gpu = (shakespeare.settings(65)[name].structure for name in ("cpu", "gpu"))
    assert (cpu.n_layers, cpu.d_model, cpu.context_length) == (4, 128, 64)
    assert (gpu.n_layers, gpu.d_model, gpu.context_length) == (6, 384, 256)
