"""In every item, a right result costs points if the call leaves the process otherwise.

The settings are compared with those before the first call of the process: an answer that changes
them for good has changed them when it is called a second time.
"""

import dataclasses
import os
import warnings

import numpy as np
import pytest
import torch

from autograder.inside import process_state
from autograder.validation.plain_process import observe
from tests.assignments.notebooks import COURSE, JUDGE, unnamed

CHECKS = {
    c.item: c
    for name in COURSE.sets()
    for c in COURSE.problem_set(name).checks
    if "_judge_" not in c.item  # what is handed in there is a test
}
CHANGES = {
    "torch's default dtype": lambda: torch.set_default_dtype(torch.float64),
    "whether torch records gradients": lambda: torch.set_grad_enabled(False),
    "the filters of warnings": lambda: warnings.simplefilter("always"),
    "the environment": lambda: os.environ.update(SOME_VARIABLE="1"),
    "how NumPy treats errors": lambda: np.seterr(divide="raise"),
    # Not Python's: in these tests beartype asks that, in references on lists of any length.
    "the state of NumPy's generator": lambda: np.random.rand(),
    "the state of torch's generator": lambda: torch.manual_seed(0),
}
FIRST = {item.partition("_")[0]: item for item in reversed(CHECKS)}  # of each set
ONCE_EACH = list(zip(FIRST.values(), CHANGES, strict=False))
ALL = [(item, change) for item in CHECKS for change in CHANGES]


def lost(item, name):
    """Return what is said of the reference, if it also makes this change."""
    check = unnamed(CHECKS[item])
    watching = tuple(part for part in check.parts if part.keeps_process)
    check = dataclasses.replace(check, parts=watching)

    def leaves_another_process(*arguments, **more):
        result = check.reference(*arguments, **more)
        CHANGES[name]()
        return result

    requests = JUDGE.requests(check, 11)
    seen = observe(requests, lambda: {check.target: leaves_another_process})
    verdict = JUDGE.verdict(check, 11, seen.observations)
    return [part.message for part in verdict.parts if not part.passed]


def test_every_item_looks_at_the_process():
    assert [i for i, c in CHECKS.items() if not any(p.keeps_process for p in c.parts)] == []


@pytest.mark.parametrize(
    ("item", "name"),
    [
        *ONCE_EACH,
        *(
            pytest.param(*case, marks=pytest.mark.exhaustive)
            for case in ALL
            if case not in ONCE_EACH
        ),
    ],
)
def test_call_that_changes_the_process_is_told_so(item, name):
    (message,) = lost(item, name)
    assert name in process_state.NAMES and f"the call changes {name}" in message
