"""The comparison of optimizers: how it tunes, and that what it compares differs in one thing."""

import json
import math
from dataclasses import asdict
from itertools import pairwise

import pytest

from benchmarks.chapters import optimizers
from benchmarks.chapters.optimizers import RECIPES, WARMUPS, Arm, Stories, rate, study, tune
from course_pkg.results import benchmark


def test_tune_ends_where_both_neighbours_are_worse():
    tried = tune(lambda exponent: abs(exponent + 2.0), first=4)
    assert min(tried, key=tried.get) == -2
    assert {-3, -1} <= tried.keys()


def test_tune_leaves_a_rate_that_breaks():
    tried = tune(lambda exponent: math.inf if exponent > 2 else -exponent, first=3)
    assert min(tried, key=tried.get) == 2


def test_study_tunes_by_the_first_seed_and_reports_all():
    asked = []

    def loss_of(lr: float, seed: int) -> float:
        asked.append((lr, seed))
        return abs(math.log2(lr / rate(2))) + seed

    found = study(Arm(first=3), loss_of, exponents=(0, 1))
    assert found["lr"] == rate(2)
    assert found["losses"] == [0.0, 1.0, 2.0]
    assert (found["mean"], found["sd"]) == (1.0, 1.0)
    assert len(asked) == len(set(asked))  # nothing is trained twice
    assert [lr for lr, _ in found["tried"]] == [rate(e) for e in range(4)]


def differing(first: Arm, second: Arm) -> set[str]:
    a, b = asdict(first), asdict(second)
    return {name for name in a if a[name] != b[name]} - {"first"}


def test_each_recipe_differs_from_the_one_before_in_one_thing():
    arms = list(RECIPES.values())
    steps = [differing(one, two) for one, two in pairwise(arms)]
    assert all(len(step) == 1 for step in steps)
    assert differing(arms[1], arms[-1]) == {"schedule", "n_warmup", "clip_norm"}
    a, b, c, d = WARMUPS.values()
    assert differing(a, b) == differing(c, d) == {"n_warmup"}
    assert differing(a, c) == differing(b, d) == {"block"}


@pytest.mark.slow
def test_final_loss_falls_below_a_uniform_guess_and_is_infinite_where_a_run_breaks():
    rows = [[1 + (i + t) % 4 for t in range(9)] for i in range(40)]
    stories = Stories(vocab_size=5, eos_id=0, train=rows, valid=rows[:5])
    arm = Arm(n_warmup=5, n_steps=30)
    assert optimizers.final_loss(stories, arm, 0.01, seed=0) < 0.8 * math.log(5)
    broken = Arm("sgd", "constant", n_warmup=0, n_steps=30)
    assert optimizers.final_loss(stories, broken, 1e20, seed=0) == math.inf


def test_each_arm_can_be_measured_by_itself_and_goes_into_the_record(tmp_path, monkeypatch):
    monkeypatch.setattr(optimizers, "load", lambda: None)
    monkeypatch.setattr(optimizers, "study", lambda arm, loss_of, exponents: asdict(arm))
    file = tmp_path / "optimizers.json"
    optimizers.main(["--record", str(file), "--only", "SGD", "--only", "pre-norm, warm-up"])
    begun = json.loads(file.read_text())
    assert (list(begun["recipes"]), list(begun["warmups"])) == (["SGD"], ["pre-norm, warm-up"])
    optimizers.main(["--record", str(file)])
    whole, recorded = json.loads(file.read_text()), benchmark("optimizers")
    assert whole.keys() == recorded.keys()
    for title in optimizers.STUDIES:
        assert set(whole[title]) == set(recorded[title])
