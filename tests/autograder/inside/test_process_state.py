import os
import random
import warnings

import numpy as np
import pytest
import torch

from autograder.inside import process_state
from autograder.inside.probe import call_probe

CHANGES = {
    "torch's default dtype": lambda: torch.set_default_dtype(torch.float64),
    "whether torch records gradients": lambda: torch.set_grad_enabled(False),
    "torch's number of threads": lambda: torch.set_num_threads(torch.get_num_threads() + 1),
    "whether torch is deterministic": lambda: torch.use_deterministic_algorithms(True),
    "the filters of warnings": lambda: warnings.filterwarnings("ignore", category=UserWarning),
    "the working directory": lambda: os.chdir("/"),
    "Python's recursion limit": lambda: __import__("sys").setrecursionlimit(5432),
    "where Python looks for modules": lambda: __import__("sys").path.insert(0, "nowhere"),
    "how NumPy treats errors": lambda: np.seterr(divide="raise"),
    "the environment": lambda: os.environ.update(SOME_VARIABLE="1"),
    "the state of Python's generator": lambda: random.random(),
    "the state of NumPy's generator": lambda: np.random.rand(),
    "the state of torch's generator": lambda: torch.rand(1),
}
CALL = "def probe(f, inputs):\n    return f()\n"


@pytest.fixture(autouse=True)
def whole_process():
    before = process_state.read((*process_state.SETTINGS, *process_state.GENERATORS))
    yield
    process_state.restore(before)


def test_every_kind_is_tried():
    assert tuple(CHANGES) == process_state.NAMES


@pytest.mark.parametrize("name", CHANGES)
def test_change_for_good_shows_in_every_call_and_spoils_no_other(name):
    kinds = (*process_state.SETTINGS, *process_state.GENERATORS)
    (kind,) = (kind for kind in kinds if kind.name == name)
    first = process_state.read(process_state.SETTINGS)
    original = kind.read()

    call_probe(CALL, CHANGES[name], {}, 3, before=first)  # an earlier call, of another part
    for _ in range(2):
        value, changed = call_probe(
            CALL, lambda: CHANGES[name]() and None, {}, 3, watches=True, before=first
        )
        assert value is None and changed == [name]
    if kind in process_state.SETTINGS:
        assert kind.read() == original
    assert call_probe(CALL, lambda: 5, {}, 3, watches=True, before=first) == (5, [])


def test_filter_that_a_library_adds_for_its_own_warnings_is_no_change():
    class LibraryWarning(Warning):
        pass

    def imports():
        warnings.filterwarnings("ignore", module="some_library")
        warnings.simplefilter("always", LibraryWarning)

    assert call_probe(CALL, imports, {}, 3, watches=True) == (None, [])


def test_what_a_call_that_breaks_has_changed_is_put_back():
    def breaks():
        torch.set_default_dtype(torch.float64)
        raise ValueError

    with pytest.raises(ValueError):
        call_probe(CALL, breaks, {}, 3)
    assert torch.get_default_dtype() == torch.float32


def test_settings_are_put_back_as_they_were():
    before = process_state.read(process_state.SETTINGS)
    for change in CHANGES.values():
        change()
    process_state.restore(before)
    assert process_state.changed(before) == []
