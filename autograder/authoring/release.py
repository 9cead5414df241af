"""Make what students receive from a problem set's one source.

    ps1/notebook.py ──► source ──► recorded ──► student
                           └─────► solution

The source holds everything. What nbgrader's gradebook remembers (`recorded`) holds hidden tests but
no solutions, the student's version neither, the instructor's solution no hidden tests.

The steps are nbgrader's own preprocessors in nbgrader's own order, so the student notebook equals,
byte for byte, what `nbgrader generate_assignment` makes of the source notebook. Cell ids are
derived from grade ids, so that two builds of one source are equal too.
"""

import copy
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import jupytext
import nbformat
from nbformat import NotebookNode
from nbgrader.nbgraderformat import MetadataValidator
from nbgrader.preprocessors import (
    CheckCellMetadata,
    ClearHiddenTests,
    ClearMarkScheme,
    ClearOutput,
    ClearSolutions,
    ComputeChecksums,
    LockCells,
)
from traitlets.config import Config

from autograder.authoring.answers import KnownAnswer, read_answers
from autograder.authoring.checks import Check, ProblemSet
from autograder.authoring.course import Course
from autograder.authoring.fingerprints import has_work, is_made_by_release, text_digest
from autograder.authoring.late_policy import Policy, read_policy
from autograder.authoring.locked_tests import locked_tests
from autograder.authoring.nbgrader_settings import (
    autotest_mark,
    cell_seconds,
    read_config,
    unusual_marks,
)
from autograder.authoring.nbgrader_source import handed_out_files, read_nbgrader_source
from autograder.authoring.notebooks import (
    as_text,
    defines,
    grading,
    is_answer,
    is_autograded,
    is_graded,
    is_ungraded_work,
)
from autograder.authoring.outline import Outline, misstated_points
from autograder.authoring.workspace import KEPT, keep_beside
from autograder.files import OwnFiles
from autograder.records import GraderError

# nbgrader runs this in the notebook's own kernel; students never see it.
_HIDDEN_TESTS = """

### BEGIN HIDDEN TESTS
__import__("autograder.lms.nbgrader_cell").lms.nbgrader_cell.score("{set}", "{item}", globals())
### END HIDDEN TESTS"""
_ASSISTANTS = "{assistants}"  # in a set's opening words
_NO_ADDRESS = 'ADDRESS = ""'  # in a set's cell that installs the course's package
_TASK = re.compile(r"^(#{1,6} )\{task\}\.", re.MULTILINE)  # opens a task's heading
_MARKERS = ("BEGIN SOLUTION", "END SOLUTION", "BEGIN HIDDEN TESTS", "END HIDDEN TESTS")
_REGIONS = ("ClearHiddenTests", "ClearMarkScheme")
_ROLES = {  # grade, solution, locked, task
    (True, False, True, False): "autograded test",
    (True, True, False, False): "hand-graded answer",
    (False, True, False, False): "answer",
    (False, False, True, False): "locked cell",
    (False, False, True, True): "task",
}


@dataclass(frozen=True)
class Release:
    """The notebooks made from one source; see the picture above."""

    name: str
    source: NotebookNode
    recorded: NotebookNode
    student: NotebookNode
    solution: NotebookNode


@dataclass(frozen=True)
class ReleasedSet:
    """A problem set of a course with everything that follows from its files.

    Each thing is made when it is first asked for, and once: one object is made for a run and passed
    on. Two are equal if they name the same set; in another process it is all made anew.
    """

    course: Course
    name: str

    @cached_property
    def problem_set(self) -> ProblemSet:
        """The checks; of a notebook written for nbgrader, its test cells as they are."""
        if self.course.has_checks:
            return self.course.problem_set(self.name)
        checks, _ = self.locked_tests
        graded = tuple(check for check in checks if check.item not in self.left_to_people)
        return ProblemSet(self.name, self.name, graded)

    @cached_property
    def notebooks(self) -> Release:
        """The notebook in all its versions.

        Raises:
            GraderError: if there is no such set, or as `build`.
        """
        source = self.course.source(self.name)
        if self.course.has_checks:
            return build(source)
        config = read_config(self.course.folder)
        notebook = read_nbgrader_source(source, autotest_mark(self.course.folder))
        return versions(notebook, source, self.name, config)

    @cached_property
    def locked_tests(self) -> tuple[tuple[Check, ...], dict[str, str]]:
        """Checks that run the test cells of a notebook for nbgrader; of other cells, why not."""
        folder, recorded = self.course.folder, self.notebooks.recorded
        return locked_tests(recorded, unusual_marks(folder), cell_seconds(folder))

    @property
    def left_to_people(self) -> dict[str, str]:
        """Of a notebook for nbgrader, the test cells that only a person can grade, and why."""
        return {cell: why for name, cell, why in self.course.by_hand if name == self.name}

    @cached_property
    def outline(self) -> Outline:
        """Titles, points and properties of all that earns points."""
        return Outline.of(self.problem_set, self.notebooks.student)

    @cached_property
    def targets(self) -> dict[str, str]:
        """For each autograded item, the name that its answer defines, where its check says so."""
        return {check.item: check.target for check in self.problem_set.checks if check.target}

    @cached_property
    def answers(self) -> dict[str, tuple[KnownAnswer, ...]]:
        """Answers to try, right and wrong, by the name that they define."""
        if not self.course.has_checks:
            return {}
        return read_answers(self.course.folder / self.name, self.targets.values())

    @cached_property
    def setup(self) -> tuple[str, ...]:
        """Code that runs before a student's: it writes the files that were handed out."""
        if self.course.has_checks:
            return ()
        return handed_out_files(self.course.source(self.name).parent)

    @cached_property
    def policy(self) -> Policy:
        """Due dates and penalties."""
        return read_policy(self.course, self.name)

    def __reduce__(self) -> tuple[type, tuple[Course, str]]:
        """Leave out what was made: checks hold functions of modules that another process lacks."""
        return ReleasedSet, (self.course, self.name)


def read_source(path: Path) -> NotebookNode:
    """Read a py:percent file as an nbgrader source notebook whose cell ids never change.

    The cell that installs the course's package is told from where, and the one that opens the
    notebook says what assistants may do, as `course.toml` states it. Tasks are numbered in their
    order: headings such as `## {task}. Rotary positions`, and what names them elsewhere, such as
    `{task:rotate}`.

    Raises:
        GraderError: if the text refers to a task that there is not.
    """
    course = Course(path.parents[1])
    address, rule = course.package_address(), course.assistants(path.parent.name)
    notebook: NotebookNode = jupytext.read(path, fmt="py:percent")
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    notebook.metadata = nbformat.from_dict({"kernelspec": kernel})  # type: ignore[no-untyped-call]
    _number_tasks(notebook.cells, path)
    for index, cell in enumerate(notebook.cells):
        if is_ungraded_work(cell):
            cell.source = cell.source.replace(_NO_ADDRESS, f"ADDRESS = {json.dumps(address)}")
        elif cell.cell_type == "markdown":
            cell.source = cell.source.replace(_ASSISTANTS, rule)
        fallback = f"cell-{index:03d}-{text_digest(cell.source)}"  # which `workspace` reads
        cell.id = re.sub(r"[^\w-]", "-", grading(cell).get("grade_id") or fallback)[:64]
    return notebook


def _number_tasks(cells: Sequence[NotebookNode], path: Path) -> None:
    """Write the numbers of tasks into their headings, and wherever the text refers to them."""
    numbers: dict[str, int] = {}
    markdown = [cell for cell in cells if cell.cell_type == "markdown"]
    n = 0
    for cell in cells:
        if cell.cell_type == "markdown" and _TASK.search(cell.source):
            n += 1
            cell.source = _TASK.sub(rf"\g<1>{n}.", cell.source, count=1)
        if is_graded(cell):
            name = str(grading(cell).get("grade_id", ""))
            numbers.setdefault(name.removeprefix(f"{path.parent.name}_"), n)

    def number(reference: re.Match[str]) -> str:
        if reference[1] not in numbers:
            raise GraderError(f"{path}: {reference[0]} names no task; there are {[*numbers]}")
        return str(numbers[reference[1]])

    for cell in markdown:
        cell.source = re.sub(r"\{task:(\w+)\}", number, cell.source)


def build(path: Path) -> Release:
    """Make all versions of a problem set.

    Raises:
        GraderError: if the source breaks nbgrader's rules; names the file, the cells and the rules.
    """
    source, name = read_source(path), path.parent.name
    broken = [*_lint_metadata(source.cells), *_lint_markers(source.cells)]
    if broken:
        raise GraderError(f"{path}: " + "; ".join(broken))
    for cell in filter(is_autograded, source.cells):
        cell.source += _HIDDEN_TESTS.format(set=name, item=grading(cell)["grade_id"])
    return versions(source, path, name)


def versions(source: NotebookNode, path: Path, name: str, config: Config | None = None) -> Release:
    """Make all versions of an nbgrader source notebook.

    Args:
        path: where it was read.
        config: the course's settings of nbgrader's preprocessors.

    Raises:
        GraderError: if nbgrader refuses it; says why.
    """
    try:
        locked = _run([LockCells], source, config)
        clear = [ClearSolutions, ClearOutput, CheckCellMetadata, ComputeChecksums]
        recorded = _run(clear, locked, config)
        clear = [ClearHiddenTests, ClearMarkScheme, ComputeChecksums, CheckCellMetadata]
        student = _run(clear, recorded, config)
        clear = [ClearOutput, ClearHiddenTests, ClearMarkScheme, ComputeChecksums]
        solution = _run(clear, locked, _anywhere(config))
    except Exception as error:
        raise GraderError(f"{path}: {type(error).__name__}: {error}") from error
    marks = ClearSolutions(config=config)
    for cell in solution.cells:
        lines = cell.source.split("\n")
        own = (marks.begin_solution_delimeter, marks.end_solution_delimeter)
        cell.source = "\n".join(line for line in lines if not any(mark in line for mark in own))
    return Release(name, source, recorded, student, solution)


def write(release: Release, folder: Path) -> dict[str, Path]:
    """Write source, student and solution notebooks below `folder`, in nbgrader's layout.

    nbgrader copies every file beside a source notebook to the students, so `source/<set>/` is
    given that one file only. A notebook in which somebody has written is kept below `kept/`, from
    where nothing goes to students.

    Returns:
        The path of each version: "source", "release", "solution".

    Raises:
        GraderError: if a notebook that no release has written stands in the place of one.
    """
    versions = {
        "source": release.source,
        "release": release.student,
        "solution": release.solution,
    }
    paths = {
        version: folder / version / release.name / f"{release.name}.ipynb" for version in versions
    }
    for version in ("source", "solution"):
        if paths[version].exists() and not is_made_by_release(paths[version].read_bytes()):
            raise GraderError(
                f"{paths[version]} is not a notebook that `release` has written: name another --out"
            )
    own = OwnFiles(folder, ())
    for version, notebook in versions.items():
        path, text = paths[version], as_text(notebook).encode()
        place = path.relative_to(folder).as_posix()
        before = path.read_bytes() if path.exists() else text
        is_older = version == "release" and not own.lists(place)  # which made no list
        if before != text and (own.has_changed(place) or (is_older and has_work(before))):
            keep_beside(path, before, into=folder / KEPT / version)
        own.write(place, text)
    return paths


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
    complaints += [f"the student version contains {mark!r}" for mark in _MARKERS if mark in text]
    complaints += ["the student version names the grader"] * ("nbgrader_cell" in text)
    return tuple(complaints)


def secret_lines(source: str) -> list[str]:
    """Return the lines of a source cell that students never see: solutions and hidden tests."""
    return _split_secret(source)[1]


def _run(
    preprocessors: Iterable[type], notebook: NotebookNode, config: Config | None
) -> NotebookNode:
    notebook = copy.deepcopy(notebook)
    resources: dict[str, Any] = {}
    for preprocessor in preprocessors:
        notebook, resources = preprocessor(config=config).preprocess(notebook, resources)
    return notebook


def _anywhere(config: Config | None) -> Config:
    """Let regions stand in every cell: nbgrader looks for them where answers are gone."""
    regions = Config({name: {"enforce_metadata": False} for name in _REGIONS})
    regions.merge(config or {})
    return regions


def _split_secret(source: str) -> tuple[list[str], list[str]]:
    """Split a cell's lines into those that everybody may see and those between markers."""
    lines: tuple[list[str], list[str]] = ([], [])
    secret = False
    for line in source.splitlines():
        if any(mark in line for mark in _MARKERS):
            secret = "BEGIN" in line
        else:
            lines[secret].append(line.strip())
    return lines


def _lint_metadata(cells: Sequence[NotebookNode]) -> Iterator[str]:
    seen: set[str] = set()
    for cell in cells:
        meta = grading(cell)
        if not meta:
            continue
        name = str(meta.get("grade_id", cell.id))
        if not re.fullmatch(r"[A-Za-z]\w*", name):
            yield f"{name}: a grade_id consists of letters, digits and underscores"
        if name in seen:
            yield f"{name}: two cells have this grade_id"
        seen.add(name)
        if meta.get("schema_version") != MetadataValidator.schema_version:
            yield f"{name}: schema_version is {meta.get('schema_version')!r}; it must be 3"
        flags = [meta.get(flag, False) is True for flag in ("grade", "solution", "locked", "task")]
        role = _ROLES.get((flags[0], flags[1], flags[2], flags[3]))
        if role is None:
            yield f"{name}: this combination of grade, solution, locked and task has no meaning"
        if role in ("autograded test", "answer") and cell.cell_type != "code":
            yield f"{name}: an {role} is a code cell, not {cell.cell_type}"
        if role == "task" and cell.cell_type != "markdown":
            yield f"{name}: a task is a markdown cell, not {cell.cell_type}"
        graded = role in ("autograded test", "hand-graded answer", "task")
        if graded and not (_is_number(meta.get("points")) and meta["points"] > 0):
            yield f"{name}: points are {meta.get('points')!r}; they must be a number above 0"
        if not graded and "points" in meta:
            yield f"{name}: has points but is not graded"


def _lint_points(cells: Sequence[NotebookNode], total: float) -> Iterator[str]:
    points = [grading(cell).get("points", 0) for cell in cells]
    points_of_cells = sum(value for value in points if _is_number(value))
    if abs(points_of_cells - total) > 1e-9:
        yield f"the points of all cells sum to {points_of_cells:g}; they must sum to {total:g}"


def _lint_markers(cells: Sequence[NotebookNode]) -> Iterator[str]:
    for cell in cells:
        meta = grading(cell)
        marks = [mark for line in cell.source.split("\n") for mark in _MARKERS if mark in line]
        solutions = [mark for mark in marks if mark in _MARKERS[:2]]
        if solutions != list(_MARKERS[:2]) * (len(solutions) // 2):
            yield f"{cell.id}: BEGIN SOLUTION and END SOLUTION must take turns"
        if marks != solutions:
            yield f"{cell.id}: HIDDEN TESTS are written by the release; take them out of the source"
        if meta.get("solution") and not solutions:
            yield f"{cell.id}: an answer without a solution between markers"


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


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
