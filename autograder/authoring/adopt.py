"""Make a set with checks of a notebook that was written for nbgrader, as far as it is simple.

    source notebook ──► notebook.py       the same cells, with names as `release` wants them
                   ├──► <test cell>.py    a check: the calls of its assertions, the solution
                   └──► problem_set.py

An assertion that is not simple stands in the check's file as a comment, and is named.
"""

import ast
import copy
import keyword
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import jupytext
import nbformat
from nbformat import NotebookNode

from autograder.authoring.assertions import Claim, read_claims
from autograder.authoring.course import Course
from autograder.authoring.locked_tests import (
    DEFINITIONS,
    as_python,
    bound,
    names_read,
    needed,
    with_usual_marks,
)
from autograder.authoring.nbgrader_settings import unusual_marks
from autograder.authoring.notebooks import grading, is_answer, is_autograded
from autograder.authoring.release import ReleasedSet
from autograder.files import write_folder
from autograder.records import GraderError

_OWN_FILES = {"notebook", "problem_set", "conftest"}
_OWN_NAMES = {"Case", "Check", "Part", "close", "equals", "ask", "PARTS", "CHECK"}
_HIDDEN = re.compile(r"^[^\n]*BEGIN HIDDEN TESTS.*?END HIDDEN TESTS[^\n]*\n?", re.DOTALL | re.M)


@dataclass(frozen=True)
class Adopted:
    """What became of a notebook.

    Attributes:
        cases: of each test cell that has a check now, how many assertions became cases.
        left: what did not become a case or a check, and why.
    """

    folder: Path
    cases: Mapping[str, int]
    left: tuple[str, ...]


@dataclass(frozen=True)
class _Task:
    """A test cell, what its assertions claim, and the cell that answers it."""

    cell: str
    item: str
    points: float
    target: str
    answer: str
    claims: tuple[Claim, ...]
    reference: str
    others: tuple[str, ...]


def adopt(released: ReleasedSet, course: Course, only: Collection[str] = ()) -> Adopted:
    """Write a set into a course with checks.

    Args:
        released: the notebook, with those test cells left to people that do not work.
        only: the test cells to make checks of; all if empty.

    Raises:
        GraderError: if a cell is unknown, the set exists already, or nothing can be adopted; says
            why, and then nothing is written.
    """
    name = re.sub(r"\W", "_", released.name).lower()
    name = name if name[:1].isalpha() and not keyword.iskeyword(name) else f"set_{name}"
    source = copy.deepcopy(released.notebooks.source)
    for cell in source.cells:
        cell.source = with_usual_marks(cell.source, unusual_marks(released.course.folder))
    tests = [cell for cell in source.cells if is_autograded(cell)]
    known = [cell.id for cell in tests]
    for unknown in sorted(set(only) - set(known)):
        raise GraderError(f"no test cell {unknown!r} in {released.name}; it has: {known}")
    folder = course.folder / name
    if folder.exists():
        raise GraderError(f"{folder} exists already; move it away first")
    tasks: dict[str, _Task] = {}
    left: list[str] = []
    broken = released.left_to_people
    for cell in tests:
        if only and cell.id not in only:
            continue
        try:
            if cell.id in broken:
                raise ValueError(broken[cell.id])
            task = _task(cell, source.cells, {other.answer for other in tasks.values()})
            if task.item in {other.item for other in tasks.values()}:
                raise ValueError(f"its name becomes {task.item}, as that of another test cell does")
        except ValueError as error:
            left.append(f"{cell.id}: {error}")
            continue
        tasks[cell.id] = task
        left += [f"{cell.id}, {other}" for other in task.others]
    if not tasks:
        raise GraderError(f"nothing of {released.name} can be adopted: {'; '.join(left)}")
    written = {f"{task.item}.py": _check_file(task, released.name) for task in tasks.values()}
    points = sum(grading(cell).get("points", 0) for cell in source.cells)
    written["problem_set.py"] = _set_file(name, list(tasks.values()), points)
    written["notebook.py"] = jupytext.writes(_renamed(source, tasks), fmt="py:percent")
    write_folder(folder, {name: text.encode() for name, text in written.items()})
    return Adopted(folder, {cell: len(task.claims) for cell, task in tasks.items()}, tuple(left))


def _task(test: NotebookNode, cells: Sequence[NotebookNode], taken: Collection[str]) -> _Task:
    """Read a test cell.

    Raises:
        ValueError: if no check can be made of it; says why.
    """
    before = cells[: [cell.id for cell in cells].index(test.id)]
    definitions, answers = _definitions(before)
    claims, others = read_claims(ast.parse(as_python(test.source)))
    called = [claim.function for claim in claims if claim.function in answers]
    if not called:
        raise ValueError("no assertion of it compares a call of what students write with a literal")
    target = max(called, key=called.count)
    if answers[target] in taken:
        raise ValueError(f"{answers[target]} is also what another test cell asks for: merge them")
    solution = needed(definitions, {target})
    if clash := _OWN_NAMES & set().union(*map(bound, solution)):
        raise ValueError(f"its solution has the name {min(clash)}, which checks give to something")
    strangers = [claim.function for claim in claims if claim.function != target]
    item = re.sub(r"\W", "_", test.id)
    return _Task(
        test.id,
        item if item[:1].isalpha() and not _is_reserved(item) else f"task_{item}",
        float(grading(test)["points"]),
        target,
        answers[target],
        tuple(claim for claim in claims if claim.function == target),
        ast.unparse(ast.Module(solution, [])),
        tuple(f"line {line}: {why}" for line, why in others)
        + tuple(f"it also calls {name}" for name in dict.fromkeys(strangers)),
    )


def _is_reserved(item: str) -> bool:
    """Whether a file of this name could not hold a check: Python, a set or pytest reads it."""
    return keyword.iskeyword(item) or item in _OWN_FILES or item.startswith("test_")


def _definitions(cells: Sequence[NotebookNode]) -> tuple[list[ast.stmt], dict[str, str]]:
    """Return what code cells define, and of what answers define the name of the last such cell."""
    found: list[ast.stmt] = []
    answers = {}
    for cell in cells:
        if cell.cell_type != "code" or is_autograded(cell):
            continue
        try:
            body = ast.parse(as_python(cell.source)).body
        except ValueError:
            continue  # a magic that takes the cell: it defines nothing
        found += [statement for statement in body if isinstance(statement, DEFINITIONS)]
        for statement in body:
            if is_answer(cell) and isinstance(statement, ast.FunctionDef | ast.ClassDef):
                answers[statement.name] = cell.id
    return found, answers


def _check_file(task: _Task, name: str) -> str:
    """Write a check that asks what the assertions asked."""
    judges = list(dict.fromkeys(claim.judge for claim in task.claims))
    draws, parts = [], []
    for number, judge in enumerate(judges, start=1):
        calls = [claim.arguments for claim in task.claims if claim.judge == judge]
        cases = [f'        Case("call {place}", {call}),' for place, call in enumerate(calls, 1)]
        body = "\n".join(["    return [", *cases, "    ]"])
        draws.append(f'def draw_{number}(rng):\n    """The same calls for all."""\n{body}\n')
        title = "values" if number == 1 else f"values {number}"
        asks = f'"{task.target} gives the right values.", draw_{number}, ask'
        parts.append(f'    Part("{title}", {asks}, judge={judge}, weight={len(calls)}),')
    imported = ["close"] * any(judge != "equals" for judge in judges)
    imported += ["equals"] * ("equals" in judges)
    rest = [line for other in task.others for line in f"not adopted: {other}".splitlines()]
    return "\n".join(
        (
            f'"""The task {task.target}, from the assertions of {task.cell} in {name}.',
            "",
            "Each call that they made is a case; the reference is the notebook's own solution.",
            "To do: inputs drawn anew for each student, mistakes with hints, alternatives.",
            '"""',
            "",
            "from autograder.authoring.checks import Case, Check, Part",
            f"from autograder.authoring.compare import {', '.join(imported)}",
            "",
            *(f"# {line}" for line in rest),
            "",
            "",
            "\n\n".join(draws),
            "",
            "def ask(implementation, inputs):",
            '    """Call it."""',
            '    return implementation(*inputs["args"], **inputs["kwargs"])',
            "",
            "",
            task.reference,
            "",
            "",
            "\n".join(("PARTS = (", *parts, ")")),
            "",
            "CHECK = Check(",
            f'    item="{task.item}",',
            f"    points={task.points:g},",
            f'    target="{task.target}",',
            f"    reference={task.target},",
            "    parts=PARTS,",
            ")",
            "",
        )
    )


def _set_file(name: str, tasks: Sequence[_Task], points: float) -> str:
    items = ", ".join(sorted(task.item for task in tasks))
    checks = "".join(f"        {task.item}.CHECK,\n" for task in tasks)
    return (
        f'"""The checks of {name}, in the order of the notebook."""\n\n'
        "from autograder.authoring.checks import ProblemSet\n\n"
        f"from . import {items}\n\n"
        f'PROBLEM_SET = ProblemSet(\n    name="{name}",\n    title="{name}",\n'
        f"    points={points:g},\n"
        f"    checks=(\n{checks}    ),\n)\n"
    )


def _renamed(source: NotebookNode, tasks: Mapping[str, _Task]) -> NotebookNode:
    """Name test and answer cells as a set does; hidden tests that stand in a check are left out."""
    notebook = copy.deepcopy(source)
    answers = {task.answer: f"{task.item}_answer" for task in tasks.values()}
    before: list[ast.stmt] = []
    for cell in notebook.cells:
        meta = grading(cell)
        if cell.id in tasks:
            body = ast.parse(as_python(cell.source)).body
            cell.source = _HIDDEN.sub("", cell.source).rstrip("\n")
            # A set's test cells do not see one another, as those in nbgrader's one kernel do.
            shared = needed(before, names_read(ast.parse(as_python(cell.source))))
            if shared:
                cell.source = f"{ast.unparse(ast.Module(shared, []))}\n{cell.source}"
            before += [statement for statement in body if isinstance(statement, DEFINITIONS)]
            meta["grade_id"] = tasks[cell.id].item
        elif meta:
            meta["grade_id"] = answers.get(cell.id, re.sub(r"\W", "_", cell.id))
        kept = {"nbgrader": {key: value for key, value in meta.items() if key != "checksum"}}
        cell.metadata = nbformat.from_dict(kept if meta else {})  # type: ignore[no-untyped-call]
    return notebook
