"""Every answer that the course knows earns what it earned when it was recorded.

For each item, `recorded_class.json` holds what every known answer earns in one draw: its points,
a 1 for each part that it passes and a 0 for each that it fails, and the misconception that is
named if it is not the answer's own. That other draws cost the same is proved in test_sets.py and
test_same_grade.py. `python -m tests.assignments.test_recorded_class` writes it anew: do so only
after an item asks for something else or an answer was added, and read the difference.
"""

import importlib
import json
import signal
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from autograder.authoring.checks import Check
from autograder.authoring.course import find_course
from autograder.authoring.release import ReleasedSet
from autograder.grading.judge import submission_seed
from autograder.inside.messages import Failure
from tests.assignments.notebooks import ask, grade, run_cells

COURSE = find_course(Path(__file__).parents[2] / "assignments")
RECORD = Path(__file__).with_name("recorded_class.json")
SALT = "first"
LATER = ("ps6", "ps7", "ps8")  # some half a minute each: among the slow tests
RECORDED = json.loads(RECORD.read_text(encoding="utf-8"))  # a set made later need not be in it
CHECKS = {c.item: c for name in COURSE.sets() for c in COURSE.problem_set(name).checks}
# That one question may take, so that an answer changed to an endless one ends: today all take under
# one, and now and then a collection of the whole process's garbage falls into one of them.
CPU_SECONDS = 30.0


@pytest.fixture(scope="module", autouse=True)
def optimizers():
    """The first optimizer of a process imports torch's compiler, for longer than an answer has."""
    importlib.import_module("torch._dynamo")


@cache
def released(name: str) -> ReleasedSet:
    """Return the set of this name; what is made of it, is made once."""
    return ReleasedSet(COURSE, name)


def set_of(item: str) -> ReleasedSet:
    """Return the set of an item."""
    return released(item.partition("_")[0])


def known_answers(check: Check, released: ReleasedSet) -> Iterator[tuple[str, Any]]:
    """Yield the name of each answer and the answer itself: the notebook's and the catalogue's."""
    notebooks = released.notebooks
    solved = run_cells(notebooks.solution)[1]
    yield "solution", solved[check.target]
    yield "stub", run_cells(notebooks.student)[1][check.target]
    for answer in released.answers[check.target]:
        if answer.is_right:
            yield f"right: {answer.name}", answer.run_in({**solved})[check.target]
    for mistake in check.mistakes:
        yield f"wrong: {mistake.name}", mistake.implementation


def earned(check: Check, answer: Any, seed: int, name: str) -> str:
    """Judge one answer; return points, a digit for each part, and the misconception, if any."""
    verdict = grade(check, answer, seed, ask=_within_limit)
    parts = "".join("01"[part.passed] for part in verdict.parts)
    named = verdict.misconception.name if verdict.misconception else ""
    named = "its own" if f"wrong: {named}" == name else named
    return f"{verdict.points:g} {parts} {named}".rstrip()


def test_every_item_of_a_recorded_set_is_recorded():
    sets = {item.partition("_")[0] for item in RECORDED}
    assert {item for item in CHECKS if item.partition("_")[0] in sets} == RECORDED.keys()


def _within_limit(request: Any, answer: Any) -> Any:
    def stop(signum: int, frame: Any) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS)
    try:
        value = ask(request, answer)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
    is_late = isinstance(value, Failure) and value.message.startswith("TimeoutError")
    return Failure("timeout", "") if is_late else value


def grade_item(check: Check) -> dict[str, str]:
    """Judge every known answer to an item, by the name that it has in the record."""
    of = set_of(check.item)
    seed = submission_seed(SALT, "ada", of.name)
    return {name: earned(check, answer, seed, name) for name, answer in known_answers(check, of)}


@pytest.mark.filterwarnings("ignore")  # an answer may warn; in grading nobody minds
@pytest.mark.parametrize(
    "item",
    [pytest.param(item, marks=[pytest.mark.slow] * item.startswith(LATER)) for item in RECORDED],
)
def test_known_answers_earn_what_they_earned(item):
    assert grade_item(CHECKS[item]) == RECORDED[item]


if __name__ == "__main__":
    importlib.import_module("torch._dynamo")
    found = {item: grade_item(check) for item, check in CHECKS.items()}
    RECORD.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
