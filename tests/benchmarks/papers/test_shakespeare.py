"""The counted baseline on Shakespeare's characters, against KenLM on the same text."""

import math

import pytest
import torch

from benchmarks.papers import shakespeare
from course_pkg.models.gpt import GPT


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


def test_model_that_knows_nothing_is_estimated_at_the_logarithm_of_its_vocabulary():
    setting = shakespeare.settings(65)["cpu"]
    model = GPT(setting.structure).eval()
    for weight in model.parameters():
        weight.detach().zero_()
    rest = torch.arange(1000) % 65
    drawn = shakespeare.draw_estimate(model, setting, rest, seed=3)
    assert drawn == pytest.approx(math.log(setting.structure.vocab_size), abs=1e-4)


def test_estimates_are_other_windows_each_time():
    setting = shakespeare.settings(65)["cpu"]
    model = GPT(setting.structure, generator=torch.Generator().manual_seed(0)).eval()
    rest = torch.randint(65, (5000,), generator=torch.Generator().manual_seed(1))
    first, again, second = (
        shakespeare.draw_estimate(model, setting, rest, seed) for seed in (0, 0, 1)
    )
    assert first == again != second
