"""Which device is taken where, without any of the GPUs."""

import pytest
import torch

from course_pkg import choose_device, train
from course_pkg.common.devices import describe_device, rng_state, set_rng_state
from course_pkg.training.distributed import process_group


@pytest.fixture
def machine(monkeypatch):
    """Return a function that gives this machine GPUs of some kinds."""

    def has(*kinds):
        monkeypatch.setattr(torch.cuda, "is_available", lambda: "cuda" in kinds)
        monkeypatch.setattr(torch.backends.mps, "is_available", lambda: "mps" in kinds)

    return has


@pytest.mark.parametrize(
    ("kinds", "chosen"),
    [((), "cpu"), (("mps",), "mps"), (("cuda",), "cuda"), (("mps", "cuda"), "cuda")],
)
def test_auto_takes_a_gpu_where_there_is_one(machine, kinds, chosen):
    machine(*kinds)
    assert choose_device() == choose_device("auto") == torch.device(chosen)
    assert choose_device("cpu") == torch.device("cpu")


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("cuda", "torch finds no NVIDIA GPU here; use auto or cpu"),
        ("mps", "torch finds no Apple GPU here; use auto or cpu"),
        ("tpu", "it must be one of auto, cpu, cuda, mps"),
        ("cuda:first", "it must be one of"),
        ("cuda:", "it must be one of"),
        ("cpu:", "it must be one of"),
    ],
)
def test_device_that_is_not_there_is_refused_by_name(machine, name, reason):
    machine()
    with pytest.raises(ValueError, match=f"device is '{name}'.*{reason}"):
        choose_device(name)


def test_gpu_of_a_number_that_none_has_is_refused(machine, monkeypatch):
    machine("cuda")
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert choose_device("cuda:1") == torch.device("cuda:1")
    with pytest.raises(ValueError, match=r"device is 'cuda:2'; the GPUs .* are 0 to 1"):
        choose_device("cuda:2")


def test_training_takes_apples_gpu_and_says_what_is_not_possible(machine, monkeypatch, capsys):
    machine("mps")
    monkeypatch.setenv("RANK", "0")  # as torchrun sets it
    with pytest.raises(SystemExit, match="1"):
        train.main(["gpt", "--device", "mps", "--fast"])
    assert "processes cannot exchange gradients; train in one process" in capsys.readouterr().err
    options = train.parse(["gpt", "--fast"])
    recipe = train.recipe_of(options, torch.device("mps"))
    assert recipe.trainer.precision == "float32" and not recipe.trainer.compile


def test_one_process_has_apples_gpu_to_itself(monkeypatch):
    monkeypatch.delenv("RANK", raising=False)
    with process_group(torch.device("mps")) as device:
        assert describe_device(device) == "Apple GPU"


def test_random_numbers_of_apples_gpu_are_kept_with_a_checkpoint(monkeypatch):
    kept = []
    monkeypatch.setattr(torch.mps, "get_rng_state", lambda: torch.tensor([7]))
    monkeypatch.setattr(torch.mps, "set_rng_state", kept.append)
    mps = torch.device("mps")
    set_rng_state(mps, rng_state(mps))
    set_rng_state(mps, None)  # of a run that began on a CPU
    assert [state.tolist() for state in kept] == [[7]]
    assert rng_state(torch.device("cpu")) is None
