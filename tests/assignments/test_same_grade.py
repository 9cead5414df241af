"""The same mistake costs every student the same, whatever is drawn for them."""

import dataclasses

import numpy as np
import pytest
import torch

from autograder.authoring.checks import Check
from autograder.grading.judge import submission_seed
from tests.assignments.notebooks import COURSE, parts_failed

CHECKS = [check for name in COURSE.sets() for check in COURSE.problem_set(name).checks]
SALTS = [f"salt {number}" for number in range(10)]


# Texts of any length are drawn there, and the sizes of a mask.
SIZES_ARE_DRAWN = ("ps1_", "ps2_", "ps4_causal_mask")


def each_of(checks):
    return pytest.mark.parametrize("check", checks, ids=[check.item for check in checks])


def _shape(value):
    """Say all of a value but the numbers in it."""
    if isinstance(value, torch.Tensor):
        return tuple(value.shape), value.dtype
    if isinstance(value, dict):
        return {key: _shape(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_shape(part) for part in value]
    return type(value)


@each_of([check for check in CHECKS if not check.item.startswith(SIZES_ARE_DRAWN)])
def test_cases_have_the_same_sizes_for_everybody(check: Check):
    for part in check.parts:
        drawn = [
            [(case.label, _shape(case.inputs)) for case in part.inputs(np.random.default_rng(seed))]
            for seed in (1, 2)
        ]
        assert drawn[0] == drawn[1], part.name


@pytest.mark.exhaustive
@each_of(CHECKS)
def test_mistake_loses_the_same_parts_under_ten_salts(check: Check):
    """And so the same points, which follow from the parts.

    How an answer goes about it (what it calls, changes and costs) depends on the numbers least:
    that is asked in the three draws of the set's proof, where points may not differ, either.
    """
    name = check.item.partition("_")[0]
    results = tuple(part for part in check.parts if part.earns_alone and not part.price)
    asked = dataclasses.replace(check, parts=results)
    found: dict[tuple[str, str], set[bool]] = {}
    for salt in SALTS:
        seed = submission_seed(salt, "ada", name)
        for mistake in check.mistakes:
            if mistake.endless:
                continue
            failed = parts_failed(asked, mistake.implementation, seed)
            for part in results:
                found.setdefault((mistake.name, part.name), set()).add(part.name in failed)
    assert [place for place, fates in found.items() if len(fates) > 1] == []
