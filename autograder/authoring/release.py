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
from dataclasses import dataclass, field, replace
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
from autograder.authoring.nbgrader_source import read_nbgrader_source, writing
from autograder.authoring.notebooks import (
    as_text,
    grading,
    is_autograded,
    is_graded,
    is_number,
    is_ungraded_work,
)
from autograder.authoring.outline import Outline
from autograder.authoring.workspace import KEPT, keep_beside
from autograder.files import OwnFiles
from autograder.handed_out import FOLDER, Files, files_beside, read_files
from autograder.records import GraderError

# nbgrader runs this in the notebook's own kernel; students never see it.
_HIDDEN_TESTS = """

### BEGIN HIDDEN TESTS
__import__("autograder.lms.nbgrader_cell").lms.nbgrader_cell.score("{set}", "{item}", globals())
### END HIDDEN TESTS"""
_ASSISTANTS = "{assistants}"  # in a set's opening words
_NO_ADDRESS = 'ADDRESS = ""'  # in a set's cell that installs the course's package
_TASK = re.compile(r"^(#{1,6} )\{task\}\.", re.MULTILINE)  # opens a task's heading
MARKERS = ("BEGIN SOLUTION", "END SOLUTION", "BEGIN HIDDEN TESTS", "END HIDDEN TESTS")
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
    """The notebooks made from one source; see the picture above.

    Attributes:
        files: what students get beside theirs.
    """

    name: str
    source: NotebookNode
    recorded: NotebookNode
    student: NotebookNode
    solution: NotebookNode
    files: Files = field(default_factory=dict)


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
    def files(self) -> Files:
        """What students get beside the notebook, by its path there.

        Raises:
            GraderError: if something cannot be handed out; says what.
        """
        if self.course.has_checks:
            return self.notebooks.files
        return files_beside(self.course.source(self.name).parent)

    @property
    def given_in_sandbox(self) -> Files:
        """Those of `files` that lie in the sandbox to be read only; nbgrader's may be changed."""
        return self.files if self.course.has_checks else {}

    @cached_property
    def setup(self) -> tuple[str, ...]:
        """Code that runs before a student's: of a course for nbgrader, it writes the files."""
        return () if self.course.has_checks else writing(self.files)

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
    return replace(versions(source, path, name), files=read_files(path.with_name(FOLDER)))


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
    given that one and what is handed out with it, which lies beside every version. What is handed
    out no more is taken away. A file in which somebody has written is kept below `kept/`, from
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
        _write_files(release, version, folder, own)
    return paths


def _write_files(release: Release, version: str, folder: Path, own: OwnFiles) -> None:
    """Write what is handed out beside a notebook; keep what somebody else has made of it."""
    below = f"{version}/{release.name}/"
    notebook = f"{below}{release.name}.ipynb"
    written = {f"{below}{name}": data for name, data in release.files.items()}
    for place, data in written.items():
        path = folder / place
        if path.is_file() and path.read_bytes() != data and not own.is_own(place):
            keep_beside(path, path.read_bytes(), into=folder / KEPT / version)
        own.write(place, data)
    for place in own.names(below):
        if place not in {*written, notebook} and own.is_own(place):
            own.delete(place)


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
        if graded and not (is_number(meta.get("points")) and meta["points"] > 0):
            yield f"{name}: points are {meta.get('points')!r}; they must be a number above 0"
        if not graded and "points" in meta:
            yield f"{name}: has points but is not graded"


def _lint_markers(cells: Sequence[NotebookNode]) -> Iterator[str]:
    for cell in cells:
        meta = grading(cell)
        marks = [mark for line in cell.source.split("\n") for mark in MARKERS if mark in line]
        solutions = [mark for mark in marks if mark in MARKERS[:2]]
        if solutions != list(MARKERS[:2]) * (len(solutions) // 2):
            yield f"{cell.id}: BEGIN SOLUTION and END SOLUTION must take turns"
        if marks != solutions:
            yield f"{cell.id}: HIDDEN TESTS are written by the release; take them out of the source"
        if meta.get("solution") and not solutions:
            yield f"{cell.id}: an answer without a solution between markers"
