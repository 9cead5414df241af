"""What fine-tuning does: distances, lines between, the choice of a rate, records."""

import json
from pathlib import Path

import pytest
import torch
from torch import nn

from benchmarks.chapters import fine_tuning
from benchmarks.chapters.fine_tuning import RATES, SEEDS, between, distance, tuned


def layer(value: float) -> nn.Linear:
    made = nn.Linear(2, 2)
    with torch.no_grad():
        made.weight.fill_(value)
        made.bias.fill_(value)
    return made


def test_distance_is_a_share_of_the_norm_at_the_start():
    assert distance(layer(1.5), layer(1.0)) == pytest.approx(0.5)
    assert distance(layer(2.0), layer(2.0)) == 0


def test_between_is_on_the_straight_line_and_leaves_both_ends():
    first, last = layer(1.0), layer(3.0)
    assert between(first, last, 0.25).weight.eq(1.5).all()
    assert first.weight.eq(1.0).all() and last.weight.eq(3.0).all()


def test_best_rate_of_seed_0_on_validation_data_is_run_with_all_seeds():
    run = []

    def train(lr: float, seed: int) -> float:
        run.append((lr, seed))
        return lr

    def score(lr: float, part: str) -> float:
        return -abs(lr - RATES["full"][1]) + (part == "test")

    arm, models = tuned("full", train, score)
    assert arm["lr"] == RATES["full"][1] and arm["test"] == [1.0] * 3
    assert models == [arm["lr"]] * 3
    assert run == [(lr, 0) for lr in RATES["full"]] + [(arm["lr"], seed) for seed in SEEDS[1:]]


def test_record_that_is_whole_is_kept_and_one_of_other_weights_refused(tmp_path, capsys):
    path = tmp_path / "fine_tuning.json"
    folder = Path(fine_tuning.__file__).parents[2] / "course_pkg" / "results" / "benchmarks"
    whole = json.loads((folder / path.name).read_text())
    path.write_text(json.dumps(whole))
    fine_tuning.main(["--record", str(path)])  # nothing is left to be measured
    assert json.loads(path.read_text()) == whole

    other = whole["weights_sha256"] | {"gpt-small": "older"}
    path.write_text(json.dumps(whole | {"weights_sha256": other}))
    with pytest.raises(SystemExit):
        fine_tuning.main(["--record", str(path)])
    assert "'gpt-small': 'older'}; it must be {'bert-small': " in capsys.readouterr().err
