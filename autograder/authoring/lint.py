"""See that a set is fit to be released: what its notebook, its checks and its files disagree on."""

from collections.abc import Iterator, Sequence

from nbformat import NotebookNode

from autograder.authoring.checks import ProblemSet
from autograder.authoring.notebooks import (
    as_text,
    defines,
    grading,
    is_answer,
    is_autograded,
    is_number,
)
from autograder.authoring.outline import misstated_points
from autograder.authoring.release import MARKERS, Release


def lint(release: Release, problem_set: ProblemSet) -> tuple[str, ...]:
    """Say what a release and its checks disagree on, in one line each; nothing if all is well."""
    return (
        *_lint_points(release.source.cells, problem_set.points),
        *misstated_points(release.source.cells),
        *_lint_items(release, problem_set),
        *leaks(release),
    )


def leaks(release: Release) -> tuple[str, ...]:
    """Say which lines of solutions or hidden tests, or which outputs, the student would see.

    A line of a solution counts as leaked where the student's version of the same cell has it more
    often than the source has it outside its solution.
    """
    complaints = []
    student = {cell.id: cell for cell in release.student.cells}
    for cell in release.source.cells:
        released = student.get(cell.id)
        if released is None:
            complaints.append(f"{cell.id}: the cell is missing from the student version")
            continue
        open_lines, hidden = _split_secret(cell.source)
        shown = [line.strip() for line in released.source.splitlines()]
        for line in hidden:
            if len(line) > 1 and shown.count(line) > open_lines.count(line):
                complaints.append(f"{cell.id}: the student version shows {line!r}")
        if released.get("outputs"):
            complaints.append(f"{cell.id}: the student version has outputs")
    text = as_text(release.student)
    complaints += [f"the student version contains {mark!r}" for mark in MARKERS if mark in text]
    complaints += ["the student version names the grader"] * ("nbgrader_cell" in text)
    return tuple(complaints)


def secret_lines(source: str) -> list[str]:
    """Return the lines of a source cell that students never see: solutions and hidden tests."""
    return _split_secret(source)[1]


def _lint_points(cells: Sequence[NotebookNode], total: float) -> Iterator[str]:
    points = [grading(cell).get("points", 0) for cell in cells]
    points_of_cells = sum(value for value in points if is_number(value))
    if abs(points_of_cells - total) > 1e-9:
        yield f"the points of all cells sum to {points_of_cells:g}; they must sum to {total:g}"


def _lint_items(release: Release, problem_set: ProblemSet) -> Iterator[str]:
    cells = {cell.id: cell for cell in release.source.cells}
    stubs = {cell.id: cell for cell in release.student.cells}
    order = list(cells)
    tests = {name for name, cell in cells.items() if is_autograded(cell)}
    for missing in sorted(tests - {check.item for check in problem_set.checks}):
        yield f"{missing}: the notebook grades it, but there is no check"
    for check in problem_set.checks:
        item, answer = check.item, f"{check.item}_answer"
        if item not in tests:
            yield f"{item}: there is a check, but the notebook has no test cell of this grade_id"
            continue
        if grading(cells[item]).get("points") != check.points:
            points = grading(cells[item]).get("points")
            yield f"{item}: {points} points in the notebook, {check.points:g} in its check"
        if answer not in cells or not is_answer(cells[answer]):
            yield f"{item}: there is no answer cell {answer}"
        elif order.index(answer) > order.index(item):
            yield f"{item}: its answer cell comes after it"
        else:
            for version, cell in (("solution", cells[answer]), ("stub", stubs[answer])):
                if not defines(cell.source, check.target):
                    yield f"{answer}: the {version} does not define {check.target}"


def _split_secret(source: str) -> tuple[list[str], list[str]]:
    """Split a cell's lines into those that everybody may see and those between markers."""
    lines: tuple[list[str], list[str]] = ([], [])
    secret = False
    for line in source.splitlines():
        if any(mark in line for mark in MARKERS):
            secret = "BEGIN" in line
        else:
            lines[secret].append(line.strip())
    return lines
