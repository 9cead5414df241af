"""Nothing that is not finite is saved or returned, whenever and wherever it comes up."""

import math

import pytest
import torch
from torch import nn

from course_pkg.training import checkpoint
from course_pkg.training.health import all_finite
from course_pkg.training.log import read_log
from course_pkg.training.trainer import Trainer, TrainerConfig, TrainingDivergedError
from tests.course_pkg.training.processes import train_together
from tests.course_pkg.training.toy import BigramModel, CycleBatches, model


def config(**changes):
    settings = {"n_steps": 12, "lr": 0.03, "log_every": 2, "checkpoint_every": 4}
    return TrainerConfig(**(settings | {"weight_decay": 0.01} | changes))


class Sick(BigramModel):
    """Breaks something at some batches, counted from 1, each of them once."""

    def __init__(self, where, at):
        super().__init__(dropout=0.0)
        self.register_buffer("total", torch.zeros(()))
        self.register_buffer("barrier", torch.tensor([0.0, -math.inf]))  # not finite on purpose
        self.where, self.at = where, list(at)

    def forward(self, ids, targets=None):
        logits, loss = super().forward(ids, targets)
        if self.training:
            self.n_seen = getattr(self, "n_seen", 0) + 1
            if self.n_seen in self.at:
                self.fall_ill(loss)
            if self.where == "loss" and self.n_seen in self.at:
                loss = loss * math.nan
        return logits, loss

    def fall_ill(self, loss):
        if self.where == "gradient":
            loss.register_hook(lambda gradient: gradient * math.inf)
        if self.where == "weight":  # of the update, not of this batch
            self.out.weight.register_post_accumulate_grad_hook(self.poison)
        if self.where == "buffer":
            self.total.fill_(math.nan)

    def poison(self, weight):
        if self.n_seen in self.at:
            weight.data[0, 0] = math.inf


def sick(where, at):
    torch.manual_seed(17)
    return Sick(where, at)


def saved(folder):
    return [checkpoint.load_checkpoint(path) for path in checkpoint.list_checkpoints(folder)]


@pytest.mark.parametrize("where", ["loss", "gradient", "weight", "buffer"])
@pytest.mark.parametrize("at", [1, 7, 8, 12])  # the first, between checkpoints, at one, the last
def test_what_is_not_finite_sends_the_run_back_and_is_never_kept(tmp_path, where, at):
    toy = sick(where, [at])
    history = Trainer(toy, CycleBatches(), config(), folder=tmp_path).train()
    events = [entry["event"] for entry in history if "event" in entry]
    assert len(events) == 1 and "rolled back to step-" in events[0]
    assert all_finite([w for name, w in toy.state_dict().items() if name != "barrier"])
    for one in saved(tmp_path):
        assert all_finite([w for name, w in one.weights.items() if name != "barrier"])


@pytest.mark.parametrize("where", ["gradient", "weight", "buffer"])
def test_without_a_folder_nothing_that_is_not_finite_is_returned(where):
    with pytest.raises(TrainingDivergedError, match="not finite; give the trainer a folder"):
        Trainer(sick(where, [12]), CycleBatches(), config()).train()


@pytest.mark.parametrize("fused", [False, True])
def test_gradients_that_overflow_in_float16_are_left_out_and_no_spikes(tmp_path, fused):
    settings = config(precision="float16", fused=fused)
    history = Trainer(sick("gradient", [1, 2]), CycleBatches(), settings, folder=tmp_path).train()
    assert not any("event" in entry for entry in history)
    assert history[0]["gradient_norm"] is None and math.isfinite(history[1]["gradient_norm"])


def test_checkpoint_that_an_earlier_version_saved_broken_is_gone_back_behind(tmp_path):
    Trainer(model(), CycleBatches(), config(), folder=tmp_path).train()
    newest = saved(tmp_path)[-1]
    newest.weights["out.bias"][0] = math.nan
    path = tmp_path / "step-000000012"
    checkpoint.set_aside(path)
    checkpoint.save_checkpoint(tmp_path, 12, newest.weights, newest.state)
    again = Trainer(model(), CycleBatches(), config(), folder=tmp_path)
    history = again.train(resume=True)
    assert {"step": 8, "event": "resumed from step-000000008"} in history
    assert all_finite(again.model.parameters())
    assert (tmp_path / "abandoned-step-000000012").is_dir()


def test_folder_without_any_healthy_checkpoint_says_so(tmp_path):
    Trainer(model(), CycleBatches(), config(), folder=tmp_path).train()
    for old in saved(tmp_path):
        checkpoint.set_aside(tmp_path / f"step-{old.step:09d}")
        old.weights["out.bias"][0] = math.nan
        checkpoint.save_checkpoint(tmp_path, old.step, old.weights, old.state)
    again = Trainer(model(), CycleBatches(), config(), folder=tmp_path)
    message = "no healthy checkpoint: step-000000012 has a number in out.bias that is not finite"
    with pytest.raises(checkpoint.CheckpointError, match=message):
        again.train(resume=True)


def test_second_spike_after_the_same_checkpoint_goes_back_further(tmp_path):
    """What broke it may stand in the checkpoint, finite yet."""
    trainer = Trainer(sick("loss", [9, 11]), CycleBatches(), config(), folder=tmp_path)
    events = [entry["event"] for entry in trainer.train() if "event" in entry]
    assert [event[-14:] for event in events] == ["step-000000008", "step-000000004"]
    assert saved(tmp_path)[-1].step == 12


def test_model_that_is_broken_from_the_start_is_refused():
    toy = model()
    nn.init.constant_(toy.out.bias, math.nan)
    with pytest.raises(ValueError, match=r"out\.bias has a number that is not finite"):
        Trainer(toy, CycleBatches(), config())


def test_run_that_may_not_roll_back_does_not(tmp_path):
    settings = config(n_rollbacks=0)
    with pytest.raises(TrainingDivergedError, match="after 0 roll backs"):
        Trainer(sick("loss", [5]), CycleBatches(), settings, folder=tmp_path).train()
    with pytest.raises(ValueError, match="n_rollbacks is -1; it must be at least 0"):
        config(n_rollbacks=-1)


@pytest.mark.parametrize("numbers", [[1e30] * 999, [3e38]])
def test_numbers_whose_squares_overflow_are_finite(numbers):
    assert all_finite([torch.tensor(numbers)])
    assert not all_finite([torch.tensor([*numbers, math.inf])])


def _train_with_one_sick(number, folder, where):
    from course_pkg.training.distributed import process_group

    with process_group("cpu") as device:
        toy = sick(where, [8] if number else [])
        settings = {"folder": folder, "device": device}
        Trainer(toy, CycleBatches(seed=number), config(), **settings).train()
        assert all_finite([w for name, w in toy.state_dict().items() if name != "barrier"])


def test_one_process_that_is_not_finite_sends_all_of_them_back(tmp_path):
    folder = train_together(_train_with_one_sick, tmp_path, "weight")
    events = [entry["event"] for entry in read_log(folder) if "event" in entry]
    assert len(events) == 1 and "rolled back to step-000000004" in events[0]


@pytest.mark.exhaustive
@pytest.mark.parametrize("where", ["loss", "gradient"])
def test_one_process_with_anything_not_finite_sends_all_of_them_back(tmp_path, where):
    folder = train_together(_train_with_one_sick, tmp_path, where)
    assert sum("event" in entry for entry in read_log(folder)) == 1
