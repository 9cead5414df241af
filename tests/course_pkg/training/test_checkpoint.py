"""Checkpoints: whole or absent, safe, and clear about what is wrong."""

import multiprocessing
import os
import signal
import time

import pytest
import torch
from torch import nn

from course_pkg.training import checkpoint


def tied_model() -> nn.Module:
    model = nn.ModuleDict({"embed": nn.Embedding(7, 3), "out": nn.Linear(3, 7)})
    model["out"].weight = model["embed"].weight
    return model


def test_checkpoint_with_tied_weights_and_nested_state_round_trips(tmp_path):
    model = tied_model()
    state = {
        "optimizer": {"state": {0: {"mean": torch.arange(6.0).view(2, 3), "step": 4}}},
        "rng": torch.get_rng_state(),
        "losses": [2.5, float("inf"), None, "text", True],
        "view": torch.arange(6.0).view(2, 3).T,
    }
    path = checkpoint.save_checkpoint(tmp_path, 12, model, state)
    loaded = checkpoint.load_checkpoint(path)
    assert loaded.step == 12
    assert loaded.weights.keys() == model.state_dict().keys()
    assert torch.equal(loaded.state["optimizer"]["state"][0]["mean"], torch.arange(6.0).view(2, 3))
    assert torch.equal(loaded.state["rng"], state["rng"])
    assert torch.equal(loaded.state["view"], state["view"])
    assert loaded.state["losses"] == state["losses"]

    other = tied_model()
    checkpoint.load_weights(other, loaded.weights, path)
    assert torch.equal(other["embed"].weight, model["embed"].weight)
    assert other["out"].weight is other["embed"].weight


def test_checkpoint_stores_a_tied_matrix_once(tmp_path):
    path = checkpoint.save_checkpoint(tmp_path, 0, tied_model(), {})
    n_numbers = 7 * 3 + 7
    assert (path / checkpoint.WEIGHTS_FILE).stat().st_size < 4 * n_numbers + 300  # 300: header


def test_checkpoint_keeps_the_newest(tmp_path):
    for step in (5, 10, 100):
        checkpoint.save_checkpoint(tmp_path, step, nn.Linear(1, 1), {}, keep=2)
    assert [p.name for p in checkpoint.list_checkpoints(tmp_path)] == [
        "step-000000010",
        "step-000000100",
    ]


def test_checkpoint_on_a_full_disk_leaves_the_previous_one_whole(tmp_path, monkeypatch):
    model = nn.Linear(2, 3)
    whole = checkpoint.save_checkpoint(tmp_path, 1, model, {})

    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(checkpoint, "_flush", full)
    with pytest.raises(OSError, match="No space left"):
        checkpoint.save_checkpoint(tmp_path, 2, model, {})
    assert [p.name for p in tmp_path.iterdir()] == [whole.name]
    checkpoint.load_checkpoint(whole)


def _save_on_a_full_disk(folder):
    import resource  # Windows has none

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))  # a longer file fails to be written
    try:
        checkpoint.save_checkpoint(folder, 2, nn.Linear(20, 30), {})
    except OSError as error:
        os._exit(0 if "step-000000002 could not be written" in str(error) else 1)
    os._exit(2)


@pytest.mark.skipif(os.name != "posix", reason="forks")
# Forking is safe here: one torch thread, and it spares each start the import of torch.
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_checkpoint_that_does_not_fit_on_the_disk_leaves_the_previous_one_whole(tmp_path):
    whole = checkpoint.save_checkpoint(tmp_path, 1, nn.Linear(2, 3), {})
    writer = multiprocessing.get_context("fork").Process(
        target=_save_on_a_full_disk, args=(tmp_path,)
    )
    writer.start()
    writer.join()
    assert writer.exitcode == 0
    assert [p.name for p in tmp_path.iterdir()] == [whole.name]
    checkpoint.load_checkpoint(whole)


def _save_for_ever(folder):
    model = nn.Linear(200, 100)
    for step in range(10**6):
        nn.init.constant_(model.weight, step)
        checkpoint.save_checkpoint(folder, step, model, {"step": step})


@pytest.mark.skipif(os.name != "posix", reason="forks")
# Forking is safe here: one torch thread, and it spares each start the import of torch.
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_checkpoint_is_whole_when_the_writer_is_killed_at_any_moment(tmp_path):
    context = multiprocessing.get_context("fork")
    delays = torch.rand(12, generator=torch.Generator().manual_seed(5)).tolist()
    for attempt, delay in enumerate(delays):
        folder = tmp_path / str(attempt)
        writer = context.Process(target=_save_for_ever, args=(folder,))
        writer.start()
        while not checkpoint.list_checkpoints(folder):
            assert writer.is_alive()
            time.sleep(0.01)
        time.sleep(delay / 5)
        os.kill(writer.pid, signal.SIGKILL)
        writer.join()
        for path in checkpoint.list_checkpoints(folder):  # the oldest may have been going
            loaded = checkpoint.load_checkpoint(path)
            assert loaded.state["step"] == loaded.step
            assert bool((loaded.weights["weight"] == loaded.step).all())


def test_save_checkpoint_rejects_a_step_that_exists(tmp_path):
    checkpoint.save_checkpoint(tmp_path, 3, nn.Linear(1, 1), {})
    with pytest.raises(FileExistsError, match="step-000000003 exists already"):
        checkpoint.save_checkpoint(tmp_path, 3, nn.Linear(1, 1), {})


def test_load_checkpoint_rejects_a_damaged_file(tmp_path):
    path = checkpoint.save_checkpoint(tmp_path, 3, nn.Linear(2, 3), {})
    weights = path / checkpoint.WEIGHTS_FILE
    weights.write_bytes(weights.read_bytes()[:-5])
    with pytest.raises(checkpoint.CheckpointError, match=r"step-000000003 cannot be read"):
        checkpoint.load_checkpoint(path)


def test_load_weights_rejects_another_model_and_lists_the_differences(tmp_path):
    path = checkpoint.save_checkpoint(tmp_path, 3, nn.Linear(2, 3), {})
    weights = checkpoint.load_checkpoint(path).weights
    with pytest.raises(checkpoint.CheckpointError, match=r"weight has shape \(3, 2\).*\(4, 2\)"):
        checkpoint.load_weights(nn.Linear(2, 4), weights, path)
    with pytest.raises(checkpoint.CheckpointError, match="bias is not in the model"):
        checkpoint.load_weights(nn.Linear(2, 3, bias=False), weights, path)


@pytest.mark.parametrize(
    ("state", "keep", "error", "message"),
    [({"model": object()}, 2, TypeError, "object"), ({}, 0, ValueError, "keep is 0")],
)
def test_save_checkpoint_rejects_what_it_cannot_keep(tmp_path, state, keep, error, message):
    with pytest.raises(error, match=message):
        checkpoint.save_checkpoint(tmp_path, 1, nn.Linear(1, 1), state, keep=keep)
    assert checkpoint.list_checkpoints(tmp_path) == []


def test_checkpoint_is_written_where_only_writable_files_can_be_flushed(tmp_path, monkeypatch):
    """As on Windows, which opens no folder either."""
    is_writable, real_open = {}, os.open

    def opened(path, flags, *rest, **more):
        if os.path.isdir(path):
            raise PermissionError(f"{path} is a folder")
        descriptor = real_open(path, flags, *rest, **more)
        is_writable[descriptor] = bool(flags & (os.O_RDWR | os.O_WRONLY))
        return descriptor

    def flushed(descriptor):
        if not is_writable[descriptor]:
            raise OSError("bad file descriptor")

    monkeypatch.setattr(checkpoint.os, "open", opened)
    monkeypatch.setattr(checkpoint.os, "fsync", flushed)
    written = checkpoint.save_checkpoint(tmp_path, 1, nn.Linear(2, 2), {"n": 1})
    monkeypatch.undo()
    assert checkpoint.load_checkpoint(written).state == {"n": 1}
