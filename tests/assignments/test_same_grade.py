"""The same mistake costs every student the same, whatever is drawn for them."""

import dataclasses
from pathlib import Path

import pytest

from autograder.authoring.checks import Check
from autograder.authoring.course import find_course
from autograder.grading.judge import ItemJudge, submission_seed
from autograder.records import Observation
from tests.assignments.notebooks import ask

COURSE = find_course(Path(__file__).parents[2] / "assignments")
CHECKS = [check for name in COURSE.sets() for check in COURSE.problem_set(name).checks]
SALTS = [f"salt {number}" for number in range(10)]


@pytest.mark.slow
@pytest.mark.parametrize("check", CHECKS, ids=[check.item for check in CHECKS])
def test_mistake_loses_the_same_points_under_ten_salts(check: Check):
    name = check.item.partition("_")[0]
    # Which mistake is named follows from the answers alone, and takes most of the time to find.
    judge, unnamed = ItemJudge(), dataclasses.replace(check, mistakes=())
    found: dict[str, set[tuple[float, tuple[str, ...]]]] = {}
    for salt in SALTS:
        seed = submission_seed(salt, "ada", name)
        requests = judge.requests(unnamed, seed)
        for mistake in check.mistakes:
            if mistake.endless:
                continue
            seen = [
                Observation(r.item, r.part, r.case, ask(r, mistake.implementation))
                for r in requests
            ]
            verdict = judge.verdict(unnamed, seed, seen)
            assert not verdict.fault
            lost = tuple(part.part for part in verdict.parts if not part.passed)
            found.setdefault(mistake.name, set()).add((verdict.points, lost))
    assert {name: grades for name, grades in found.items() if len(grades) > 1} == {}
