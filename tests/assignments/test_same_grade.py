"""The same mistake costs every student the same, whatever is drawn for them."""

from pathlib import Path

import pytest

from autograder.authoring.checks import Check
from autograder.authoring.course import find_course
from autograder.grading.judge import ItemJudge, submission_seed
from autograder.records import Observation
from tests.assignments.notebooks import ask

COURSE = find_course(Path(__file__).parents[2] / "assignments")
SETS = ("ps4",)
"""Sets whose hard cases stand in every draw. A set that is to be held to this is added here."""

CHECKS = [check for name in SETS for check in COURSE.problem_set(name).checks]
SALTS = [f"salt {number}" for number in range(10)]


@pytest.mark.slow
@pytest.mark.parametrize("check", CHECKS, ids=[check.item for check in CHECKS])
def test_mistake_loses_the_same_points_under_ten_salts(check: Check):
    judge, name = ItemJudge(), check.item.partition("_")[0]
    found: dict[str, set[tuple[float, str]]] = {}
    for salt in SALTS:
        seed = submission_seed(salt, "ada", name)
        requests = judge.requests(check, seed)
        for mistake in check.mistakes:
            if mistake.endless:
                continue
            seen = [
                Observation(r.item, r.part, r.case, ask(r, mistake.implementation))
                for r in requests
            ]
            verdict = judge.verdict(check, seed, seen)
            assert not verdict.fault
            named = verdict.misconception.name if verdict.misconception else ""
            found.setdefault(mistake.name, set()).add((verdict.points, named))
    grades = {name: pairs for name, pairs in found.items() if len(pairs) > 1}
    assert grades == {}
    assert all(named in ("", name) for name, ((_, named),) in found.items())
