"""LoRA beside some layers or all: as many numbers as the control, the best rate of all seeds."""

from types import SimpleNamespace

import pytest
import torch

from benchmarks.chapters import lora_layers
from course_pkg.models.adaptation import LoRALinear, add_lora
from course_pkg.weights.pretrained import load_pretrained


def test_control_learns_as_many_numbers_as_all_layers():
    sizes = {}
    for arm, (targets, rank) in lora_layers.ARMS.items():
        model = load_pretrained("bert-small").model
        sizes[arm] = sum(p.numel() for p in add_lora(model, rank=rank, targets=targets))
        thin = [name for name, part in model.named_modules() if isinstance(part, LoRALinear)]
        assert len(thin) == len(targets) * model.config.n_layers
        assert all(name.startswith("stack.blocks") for name in thin)
    assert list(sizes.values()) == [32_768, 147_456, 147_456]


@pytest.mark.parametrize("best", [4, 8])
def test_rate_is_that_of_all_seeds(best):
    def run(place):
        return [-abs(place - best) - shift for shift in (0.0, 0.5, -0.5)], [place] * 3

    place, tried = lora_layers.searched(run, 6)
    assert place == best and {best - 1, best, best + 1} <= set(tried)
    assert tried[place] == max(tried.values())


def test_arm_reports_the_test_questions_at_its_best_rate(monkeypatch):
    monkeypatch.setattr(lora_layers, "fine_tune", lambda model, rows, **how: setattr(
        model, "place", lora_layers.RATES.index(how["lr"])))  # fmt: skip
    monkeypatch.setattr(lora_layers, "predict", lambda model, asked: [model.place, asked])
    monkeypatch.setattr(lora_layers, "accuracy", lambda found, _: -abs(found[0] - 5) / 100)
    monkeypatch.setattr(lora_layers, "TextClassifier", lambda *_, **__: torch.nn.Linear(1, 1))
    monkeypatch.setattr(lora_layers, "add_lora", lambda *_, **__: [])
    task = SimpleNamespace(
        labels=("a", "b"), n_epochs={8: 1}, valid=["v"], test=["t"], targets=lambda records: [],
        read=lambda model, records: records, drawn=lambda n, seed: [],
    )  # fmt: skip
    model = SimpleNamespace(copy=lambda **_: torch.nn.Linear(1, 1))
    found = lora_layers.measured(task, model, "all layers, rank 8", 8)
    assert found["setting"]["lr"] == lora_layers.RATES[5]
    assert found["test_accuracy"] == [0.0, 0.0, 0.0] and found["n_trained"] == 2
