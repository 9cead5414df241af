"""The comparison of clipping: its arms differ in the limit alone, and its runs learn."""

import math
from dataclasses import asdict

import pytest

from benchmarks.chapters.clipping import ARMS, Arm, final_loss
from benchmarks.chapters.optimizers import Stories


def test_arms_differ_only_in_the_limit_and_where_tuning_begins():
    first, *others = (asdict(arm) for arm in ARMS.values())
    for other in others:
        assert {name for name in first if first[name] != other[name]} <= {"clip_norm", "first"}


@pytest.mark.slow
def test_final_loss_falls_below_a_uniform_guess():
    rows = [[1 + (i + t) % 4 for t in range(9)] for i in range(40)]
    stories = Stories(vocab_size=5, eos_id=0, train=rows, valid=rows[:5])
    loss = final_loss(stories, Arm(1.0, n_steps=30), 0.1, seed=0)
    assert loss < 0.8 * math.log(5)
