"""Fixtures of the tests that stand in the folder of a problem set, about that set."""

from collections.abc import Callable
from typing import Any

import pytest

from autograder.authoring.answers import read_file
from autograder.authoring.checks import Check
from autograder.authoring.release import Release, build
from tests.assignments.notebooks import run_cells


@pytest.fixture(scope="module")
def release(request: pytest.FixtureRequest) -> Release:
    """The notebooks of the set in whose folder the test stands."""
    return build(request.path.with_name("notebook.py"))


@pytest.fixture(scope="module")
def solved(release: Release) -> dict[str, Any]:
    """The names that the cells of its solution make: not to be changed."""
    return run_cells(release.solution)[1]


@pytest.fixture
def right_answers(
    request: pytest.FixtureRequest, solved: dict[str, Any]
) -> Callable[[Check], list[Any]]:
    """Give an item's right answers, as they lie in the set's folder."""

    def ask(check: Check) -> list[Any]:
        cells = read_file(request.path.parent / "answers" / f"{check.target}.py")
        return [cell.run_in({**solved})[check.target] for cell in cells if cell.is_right]

    return ask


@pytest.fixture
def visible_tests(release: Release, solved: dict[str, Any]) -> Callable[[Check, Any], None]:
    """Ask an item's visible tests about an answer; they raise an AssertionError."""

    def ask(check: Check, answer: Any) -> None:
        (cell,) = (cell for cell in release.student.cells if cell.id == check.item)
        exec(compile(cell.source, check.item, "exec"), {**solved, check.target: answer})

    return ask
