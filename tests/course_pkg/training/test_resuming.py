"""A run goes on as if never interrupted, whatever interrupts it, or says why it cannot."""

import errno
import json
import os
import signal
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from course_pkg.common.files import CHECKSUMS_FILE
from course_pkg.models.gpt import GPT, gpt_tiny
from course_pkg.text.batches import (
    example_batches,
    next_token_rows,
    stream_batches,
    window_batches,
)
from course_pkg.text.batches.batching import fingerprint
from course_pkg.training import checkpoint, lock
from course_pkg.training.lock import only_process
from course_pkg.training.log import read_log, without_detours
from course_pkg.training.trainer import Trainer, TrainerConfig
from tests.course_pkg.training.toy import CycleBatches, V, model

CONFIG = TrainerConfig(n_steps=12, lr=0.03, log_every=4, checkpoint_every=4, weight_decay=0.01)
TEXT = torch.arange(200) % V


def evaluate(toy):
    return {"valid_loss": sum(float(weight.sum()) for weight in toy.parameters())}


def trainer(folder, batches=None, config=CONFIG, toy=None, **options):
    batches = batches or CycleBatches()
    return Trainer(toy or model(), batches, config, folder=folder, evaluate=evaluate, **options)


def weights(one):
    return torch.cat([p.detach().flatten() for p in one.model.parameters()])


def noted(history):
    """What a history says, without times."""
    timed = ("tokens_per_second",)
    return [
        {name: value for name, value in entry.items() if name not in timed}
        for entry in without_detours(history)
    ]


class KilledError(BaseException):
    """Stands for SIGKILL: nothing of ours runs after it."""


def kill_at(monkeypatch, owner, name, call, when):
    """Let the `call`-th call of a function be the last one, before or after it has acted."""
    original, n_calls = getattr(owner, name), 0

    def last(*args, **kwargs):
        nonlocal n_calls
        n_calls += 1
        if n_calls == call and when == "before":
            raise KilledError
        result = original(*args, **kwargs)
        if n_calls == call:
            raise KilledError
        return result

    monkeypatch.setattr(owner, name, last)


MOMENTS = [
    pytest.param(
        *(owner, name, call, when),
        marks=[] if (call, when) == (calls[0], "after") else pytest.mark.exhaustive,
    )
    for owner, name, calls in (
        (checkpoint, "save_checkpoint", (4, 1, 2)),
        (checkpoint.safetensors.torch, "save_file", (5, 2)),
        (checkpoint.os, "fsync", (1, 9)),
        (Trainer, "_note_updates", (1, 3)),
        (Trainer, "_evaluate_once", (1,)),
        (Trainer, "_update", (1, 6)),
    )
    for call in calls
    for when in ("before", "after")
]


@pytest.mark.parametrize(("owner", "name", "call", "when"), MOMENTS)
def test_killed_between_any_two_writes_and_again_it_ends_as_if_never(
    tmp_path, monkeypatch, owner, name, call, when
):
    straight = trainer(tmp_path / "straight")
    straight.train()
    for n_calls in (call, 2):
        with monkeypatch.context() as patch:
            kill_at(patch, owner, name, n_calls, when)
            with suppress(KilledError):
                trainer(tmp_path / "killed").train(resume=True)
    resumed = trainer(tmp_path / "killed")
    resumed.train(resume=True)
    assert torch.equal(weights(resumed), weights(straight))
    assert noted(resumed.history) == noted(straight.history)
    assert resumed.history == read_log(tmp_path / "killed")


@pytest.mark.parametrize("cut", [1, 9])
def test_log_whose_last_line_is_cut_off_goes_on(tmp_path, cut):
    first = trainer(tmp_path / "run")
    first.train()
    log = tmp_path / "run" / "log.jsonl"
    log.write_bytes(log.read_bytes()[:-cut])
    checkpoint.set_aside(checkpoint.list_checkpoints(tmp_path / "run")[-1])
    second = trainer(tmp_path / "run")
    assert noted(second.train(resume=True)) == noted(first.history)
    assert second.history == read_log(tmp_path / "run")


@pytest.mark.parametrize("killed_at", [3, 6, 11])
def test_updates_that_are_repeated_stand_once_in_history_and_log(tmp_path, monkeypatch, killed_at):
    config = replace(CONFIG, log_every=1)
    with monkeypatch.context() as patch, suppress(KilledError):
        kill_at(patch, Trainer, "_note_updates", killed_at, "after")
        trainer(tmp_path, config=config).train()
    resumed = trainer(tmp_path, config=config)
    history = resumed.train(resume=True)
    assert history == read_log(tmp_path)
    assert [entry["step"] for entry in history if "loss" in entry] == list(range(1, 13))
    straight = trainer(tmp_path / "straight", config=config)
    assert noted(history) == noted(straight.train())


def test_what_a_roll_back_left_behind_stays_in_the_log_after_resuming(tmp_path):
    config = replace(CONFIG, n_steps=80, lr=0.05, spike_factor=2.5, checkpoint_every=20)
    batches = CycleBatches(poison_at=57)
    first = trainer(tmp_path, batches, config, model(dropout=0.0))
    first.train()
    told = [e for e in first.history if "rolled back" in e.get("event", "")]
    assert len(told) == 1
    checkpoint.set_aside(checkpoint.list_checkpoints(tmp_path)[-1])
    second = trainer(tmp_path, CycleBatches(), config, model(dropout=0.0))
    second.train(resume=True)
    assert told[0] in second.history
    assert noted(second.history) == noted(first.history)


def test_resuming_without_a_folder_is_refused_and_not_a_new_start():
    one = Trainer(model(), CycleBatches(), CONFIG)
    with pytest.raises(ValueError, match=r"resume is True, but this trainer keeps no checkpoints"):
        one.train(resume=True)
    assert one.run.step == 0


@pytest.mark.parametrize("below", [".", "below"])
def test_file_in_place_of_the_folder_is_named(tmp_path, below):
    file = tmp_path / "model.pt"
    file.write_text("theirs")
    with pytest.raises(ValueError, match=r"model\.pt is a file; name a folder"):
        trainer(file / below)
    assert file.read_text() == "theirs"
    with pytest.raises(ValueError, match="folder is 3; it must be a path"):
        trainer(3)


class Busy(CycleBatches):
    """Says through a pipe that training goes on, and waits for an answer that never comes."""

    def __init__(self, said, answer):
        super().__init__()
        self.said, self.answer = said, answer

    def next_batch(self):
        os.write(self.said, b"!")
        os.read(self.answer, 1)
        return super().next_batch()


@pytest.mark.skipif(os.name != "posix", reason="forks")
def test_second_run_in_a_folder_is_locked_out_until_the_first_ends_however_it_ends(tmp_path):
    (hears, said), (answer, keeps) = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        trainer(tmp_path, Busy(said, answer)).train()
        os._exit(0)
    try:
        assert os.read(hears, 1) == b"!"
        before = sorted(tmp_path.iterdir())
        with pytest.raises(BlockingIOError, match="is being trained in by another process"):
            trainer(tmp_path).train(resume=True)
        assert sorted(tmp_path.iterdir()) == before
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        for end in (hears, said, answer, keeps):
            os.close(end)
    assert trainer(tmp_path).train(resume=True)[-1]["step"] == 12


def test_second_thread_in_a_folder_is_locked_out_and_one_thread_may_nest(tmp_path):
    def other():
        with only_process(tmp_path):
            pass

    with ThreadPoolExecutor(1) as pool:
        with only_process(tmp_path), only_process(tmp_path), pytest.raises(BlockingIOError):
            pool.submit(other).result()
        pool.submit(other).result()


def test_folder_without_locks_is_trained_in_all_the_same(tmp_path, monkeypatch):
    def none(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(lock, "_lock", none)
    assert trainer(tmp_path).train()[-1]["step"] == 12


def test_finished_run_is_returned_whole_and_nothing_is_written(tmp_path):
    first = trainer(tmp_path)
    first.train()
    before = (tmp_path / "log.jsonl").read_bytes()
    again = trainer(tmp_path)
    assert again.train(resume=True) == first.history
    assert torch.equal(weights(again), weights(first))
    assert (tmp_path / "log.jsonl").read_bytes() == before


def test_finished_run_whose_log_is_lost_is_evaluated_again(tmp_path):
    first = trainer(tmp_path)
    last = first.train()[-1]
    (tmp_path / "log.jsonl").unlink()
    assert trainer(tmp_path).train(resume=True) == [last]


def test_log_of_another_run_in_the_folder_stays_and_is_set_apart(tmp_path):
    (tmp_path / "log.jsonl").write_text('{"step": 99, "loss": 7.0}\n')
    history = trainer(tmp_path).train()
    assert history[0] == {"step": 0, "event": "began anew"}
    assert max(entry["step"] for entry in without_detours(read_log(tmp_path))) == 12


def gpt(**changes):
    config = replace(gpt_tiny(V, 8), d_model=8, n_layers=1, d_ff=8)
    return GPT(replace(config, **changes), generator=torch.Generator().manual_seed(0))


def windows(text=TEXT, length=8, rows=2, seed=0):
    return window_batches(text, length, rows, seed=seed)


OTHERS = {
    "batch size": ({"batches": windows(rows=3)}, "batch_size was 2, not 3"),
    "seed": ({"batches": windows(seed=1)}, "seed was 0, not 1"),
    "context length": ({"batches": windows(length=7)}, "context_length was 8, not 7"),
    "text": ({"batches": windows(TEXT.flip(0))}, "text was '[0-9a-f]{8}', not '"),
    "text of another length": ({"batches": windows(TEXT[:-1])}, "text was"),
    "batches of another kind": (
        {"batches": stream_batches(TEXT, 8, 2)},
        "batches was 'window_batches', not 'stream_batches'",
    ),
    "heads": ({"toy": gpt(n_heads=2)}, r"attention.n_heads was 4, not 2"),
    "optimizer": (
        {"config": replace(CONFIG, optimizer="sgd", weight_decay=0.01)},
        "optimizer was 'adamw', not 'sgd'",
    ),
    "schedule": (
        {"config": replace(CONFIG, schedule="constant")},
        "schedule was 'cosine', not 'constant'",
    ),
    "own schedule": (
        {"learning_rate": lambda step: 0.01},
        r"learning_rate at update 1 was 0\.03, not 0\.01",
    ),
}


@pytest.mark.parametrize("other", OTHERS)
def test_what_would_be_another_run_is_refused_by_name(tmp_path, other):
    trainer(tmp_path, windows(), toy=gpt()).train()
    changes, message = OTHERS[other]
    one = trainer(tmp_path, **({"batches": windows(), "toy": gpt()} | changes))
    with pytest.raises(checkpoint.CheckpointError, match=f"other settings: .*{message}"):
        one.train(resume=True)


def test_own_optimizers_of_other_kinds_and_settings_are_refused_by_name(tmp_path):
    def run(make):
        toy = model()
        return trainer(tmp_path, toy=toy, optimizer=make(toy.parameters()))

    run(lambda params: torch.optim.SGD(params, CONFIG.lr, momentum=0.9)).train()
    with pytest.raises(checkpoint.CheckpointError, match="optimizer was 'SGD', not 'Adam'"):
        run(lambda params: torch.optim.Adam(params, CONFIG.lr)).train(resume=True)
    with pytest.raises(checkpoint.CheckpointError, match=r"momentum was 0\.9, not 0\.5"):
        run(lambda params: torch.optim.SGD(params, CONFIG.lr, momentum=0.5)).train(resume=True)


def test_frozen_weights_of_another_session_are_spoken_of(tmp_path):
    trainer(tmp_path).train()
    toy = model()
    toy.embed.requires_grad_(False)
    with pytest.raises(checkpoint.CheckpointError, match="3 parameters were trained, not 2"):
        trainer(tmp_path, toy=toy).train(resume=True)


def test_checkpoint_of_an_earlier_version_is_said_to_be_one(tmp_path):
    trainer(tmp_path).train()
    file = checkpoint.list_checkpoints(tmp_path)[-1] / "state.json"
    file.write_text(file.read_text().replace('"structure"', '"other"'))
    file.with_name(CHECKSUMS_FILE).unlink()
    with pytest.raises(checkpoint.CheckpointError, match="another version of this package"):
        trainer(tmp_path).train(resume=True)


def test_fingerprint_follows_content_alone():
    class Thing:
        """Prints where it lies in memory, which differs from session to session."""

    assert fingerprint([1, 2]) != fingerprint([2, 1])
    assert fingerprint([[1], [2]]) == fingerprint([[1], [2]])
    assert fingerprint([Thing(), torch.ones(2)]) == fingerprint([Thing(), torch.ones(2)])
    assert fingerprint({"a": np.ones(2)}) != fingerprint({"a": np.zeros(2)})
    assert fingerprint([("a", 1)]) != fingerprint([("a", 2)])


def test_examples_tell_their_streams_apart(tmp_path):
    def batches(examples):
        return example_batches(examples, lambda r, _: next_token_rows(r, 0), 2, seed=0)

    trainer(tmp_path, batches([[1, 2], [3], [4, 1]])).train()
    with pytest.raises(checkpoint.CheckpointError, match="text was"):
        trainer(tmp_path, batches([[1, 2], [3], [4, 2]])).train(resume=True)


@pytest.fixture
def listening():
    """Pythons that were started in the background ignore Ctrl-C."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


class Signalling(CycleBatches):
    """Sends a signal to its own process when it has drawn some batches."""

    def __init__(self, number, after=6, times=1):
        super().__init__()
        self.number, self.after, self.times = number, after, times

    def next_batch(self):
        batch = super().next_batch()
        if self.position == self.after:
            for _ in range(self.times):
                os.kill(os.getpid(), self.number)
        return batch


def test_ctrl_c_saves_after_the_update_and_the_run_goes_on_exactly(tmp_path, listening):
    straight = trainer(tmp_path / "straight")
    straight.train()
    first = trainer(tmp_path / "run", Signalling(signal.SIGINT))
    with pytest.raises(KeyboardInterrupt, match=r"stopped after update 6; train\(resume=True\)"):
        first.train()
    assert checkpoint.list_checkpoints(tmp_path / "run")[-1].name == "step-000000006"
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    second = trainer(tmp_path / "run")
    second.train(resume=True)
    assert torch.equal(weights(second), weights(straight))
    assert noted(second.history) == noted(straight.history)


def test_second_ctrl_c_stops_at_once(tmp_path, listening):
    with pytest.raises(KeyboardInterrupt):
        trainer(tmp_path, Signalling(signal.SIGINT, times=2)).train()
    assert checkpoint.list_checkpoints(tmp_path)[-1].name == "step-000000004"


def test_ctrl_c_without_a_folder_leaves_a_whole_update(listening):
    constant = replace(CONFIG, schedule="constant")
    straight = Trainer(model(), CycleBatches(), replace(constant, n_steps=6))
    straight.train()
    stopped = Trainer(model(), Signalling(signal.SIGINT), constant)
    with pytest.raises(KeyboardInterrupt, match="stopped after update 6"):
        stopped.train()
    assert torch.equal(weights(stopped), weights(straight))


def test_sigterm_saves_too_and_then_ends_the_process(tmp_path):
    child = os.fork()
    if child == 0:
        trainer(tmp_path, Signalling(signal.SIGTERM)).train()
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.WTERMSIG(status) == signal.SIGTERM
    assert checkpoint.list_checkpoints(tmp_path)[-1].name == "step-000000006"


def test_what_a_stopped_run_must_not_go_on_from_is_not_saved(tmp_path, listening):
    class Breaking(Signalling):
        def next_batch(self):
            if self.position == 5:
                nn.init.constant_(toy.out.bias, torch.nan)
            return super().next_batch()

    toy = model()
    with pytest.raises(KeyboardInterrupt):
        trainer(tmp_path, Breaking(signal.SIGINT), toy=toy).train()
    assert checkpoint.list_checkpoints(tmp_path)[-1].name == "step-000000004"


def test_flipped_bit_in_a_checkpoint_is_a_message(tmp_path):
    trainer(tmp_path).train()
    file = checkpoint.list_checkpoints(tmp_path)[-1] / checkpoint.WEIGHTS_FILE
    content = bytearray(file.read_bytes())
    content[-3] ^= 4
    file.write_bytes(content)
    with pytest.raises(
        checkpoint.CheckpointError, match=r"model\.safetensors is not as it was written"
    ):
        trainer(tmp_path).train(resume=True)


def test_numbers_of_numpy_and_torch_are_saved_as_pythons(tmp_path):
    config = TrainerConfig(
        n_steps=np.int64(4),
        lr=np.float32(0.03),
        log_every=np.int32(2),
        checkpoint_every=torch.tensor(2),
        fused=np.bool_(False),
        seed=np.uint8(3),
    )
    figures = {"one": np.float32(1.5), "two": torch.tensor(2.5), "three": np.int64(3)}

    class Numbered(CycleBatches):
        def state_dict(self):
            return {name: np.int64(value) for name, value in super().state_dict().items()}

    Trainer(model(), Numbered(), config, folder=tmp_path, evaluate=lambda _: figures).train()
    last = json.loads((tmp_path / "log.jsonl").read_text().splitlines()[-1])
    assert last == {"step": 4, "one": 1.5, "two": 2.5, "three": 3}
    again = Trainer(model(), Numbered(), config, folder=tmp_path).train(resume=True)
    assert again[-1] == last
