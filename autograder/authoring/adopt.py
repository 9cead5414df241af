"""Make a set with checks of a notebook that was written for nbgrader.

    source notebook ──► notebook.py       the same cells, with names as `release` wants them
                   ├──► <test cell>.py    a check: its assertions as they are, the solution
                   └──► problem_set.py

The assertions become functions that are called outside the sandbox (`autograder.authoring.replay`).
Each is tried on the solution first; a test cell of which no such function can be made is named,
with the reason.
"""

import ast
import contextlib
import copy
import json
import keyword
import re
import subprocess
import sys
import textwrap
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import jupytext
import nbformat
from nbformat import NotebookNode

from autograder.authoring.course import Course
from autograder.authoring.locked_tests import (
    as_python,
    bound,
    names_read,
    needed,
    with_usual_marks,
)
from autograder.authoring.nbgrader_settings import unusual_marks
from autograder.authoring.notebooks import defines, grading, is_answer, is_autograded
from autograder.authoring.release import ReleasedSet
from autograder.authoring.statements import IMPORTS, is_magic, is_partial_credit, leading_to, makes
from autograder.files import write_folder
from autograder.handed_out import FOLDER, Files, put, to_hand_out
from autograder.records import GraderError
from autograder.temporary import temporary_folder

_OWN_FILES = {"notebook", "problem_set", "conftest"}
_OWN_NAMES = {"Check", "asserted", "PARTS", "CHECK"}
_HIDDEN = re.compile(r"^[^\n]*BEGIN HIDDEN TESTS.*?END HIDDEN TESTS[^\n]*\n?", re.DOTALL | re.M)
_TRIAL_SECONDS = 300
_TRIAL = """\
import json, pathlib, sys
from autograder.authoring.replay import tried
from autograder.handed_out import read_files
files = read_files(pathlib.Path(sys.argv[1]))
print(json.dumps({path: tried(path, files) for path in sys.argv[2:]}))
"""


@dataclass(frozen=True)
class Adopted:
    """What became of a notebook.

    Attributes:
        calls: of each test cell that stands in a check now, how many calls it makes.
        left: of each that does not, why.
        files: what is handed out beside the notebook.
        left_out: files that lay beside the source and are not handed out, and why.
    """

    folder: Path
    calls: Mapping[str, int]
    left: Mapping[str, str]
    files: Sequence[str]
    left_out: Mapping[str, str]


@dataclass(frozen=True)
class _Statement:
    """A definition of the notebook's, and the cell that it stands in."""

    node: ast.stmt
    cell: NotebookNode


@dataclass(frozen=True)
class _Tests:
    """What becomes of a test cell: the body of a function of what students define.

    Attributes:
        targets: the names that it is a function of, functions before values.
        answer: the cell that defines them.
        text: the function's body.
        around: what body and solution need of the notebook, as places among its definitions.
    """

    cell: str
    points: float
    targets: tuple[str, ...]
    answer: str
    text: str
    around: frozenset[int]

    def function(self, name: str, main: str) -> str:
        """Return the function's source.

        Args:
            main: the name that the check asks for; it comes first.
        """
        names = dict.fromkeys((main, *self.targets))
        return f"def {name}({', '.join(names)}):\n{textwrap.indent(self.text, '    ')}\n"

    def part(self, name: str, function: str, main: str) -> str:
        """Return the line that makes the part of it."""
        names = ", ".join(dict.fromkeys((main, *self.targets)))
        return f'    asserted("{name}", {function}, {names}, weight={self.points:g}),'


@dataclass(frozen=True)
class _Item:
    """An answer, and all test cells that ask for it."""

    name: str
    tests: tuple[_Tests, ...]

    @property
    def points(self) -> float:
        return sum(test.points for test in self.tests)

    @property
    def target(self) -> str:
        return self.tests[0].targets[0]


class _Notebook:
    """What a notebook's code cells define, cell by cell, and which of it students are to write."""

    def __init__(self, released: ReleasedSet, cells: Sequence[NotebookNode]) -> None:
        self.name = released.name
        self.cells = cells
        self.statements: list[_Statement] = []
        for cell in cells:
            with contextlib.suppress(ValueError):  # a magic that takes the cell: it defines nothing
                code = as_python(cell.source) if cell.cell_type == "code" else ""
                self.statements += [_Statement(one, cell) for one in ast.parse(code).body]
        imports = [one.node for one in self.statements if isinstance(one.node, IMPORTS)]
        modules = set().union(*map(bound, imports))
        self.makes = partial(makes, modules=modules)
        self.statements = [one for one in self.statements if self.makes(one.node)]
        self._stubs = {cell.id: cell.source for cell in released.notebooks.student.cells}

    def read(self, test: NotebookNode) -> _Tests:
        """Read a test cell.

        Raises:
            ValueError: if no function can be made of it; says why.
        """
        points = float(grading(test)["points"])
        if not points > 0:
            raise ValueError("it is worth 0 points, so there is nothing to check")
        source = as_python(test.source)
        body = [one for one in ast.parse(source).body if not is_magic(one)]
        if is_partial_credit(body):
            raise ValueError("it ends with a number of points: a check's part holds or does not")
        stars = [one for one in body if isinstance(one, ast.ImportFrom) and "*" in bound(one)]
        before = self._before(test)
        deletes = [one for one in ast.walk(ast.Module(body, [])) if isinstance(one, ast.Delete)]
        gone = {ast.unparse(target) for one in deletes for target in one.targets}
        if gone := gone & set().union(*(bound(one.node) for one in before)):
            raise ValueError(f"it deletes {min(gone)}, to see who calls it: checks ask for values")
        reads = names_read(ast.Module(body, []))
        helpers = needed([one.node for one in before if not is_answer(one.cell)], reads, self.makes)
        reads |= set().union(*map(names_read, helpers))
        answer, targets = self._asked(before, reads)
        inner = leading_to(helpers, set(targets))
        outer = needed(
            [one.node for one in before if not any(one.node is other for other in inner)],
            reads | set(targets),
            self.makes,
        )
        if clash := _OWN_NAMES & set().union(*map(bound, outer)):
            raise ValueError(f"it needs the name {min(clash)}, which checks give to something")
        places = {id(one.node): place for place, one in enumerate(self.statements)}
        return _Tests(
            test.id,
            points,
            targets,
            answer,
            _body(inner, [one for one in body if one not in stars], source),
            frozenset(places[id(one)] for one in outer),
        )

    def _before(self, test: NotebookNode) -> list[_Statement]:
        ids = [cell.id for cell in self.cells]
        place = ids.index(test.id)
        return [one for one in self.statements if ids.index(one.cell.id) < place]

    def _asked(self, before: Sequence[_Statement], reads: set[str]) -> tuple[str, tuple[str, ...]]:
        """Return the last answer that these names come from, and which of them it defines.

        Raises:
            ValueError: if there is none, or it cannot be asked; says why.
        """
        kinds: dict[str, dict[str, bool]] = {}  # by answer: its names, and whether it is a function
        for one in before:
            if is_answer(one.cell) and not isinstance(one.node, IMPORTS):
                is_function = isinstance(one.node, ast.FunctionDef | ast.ClassDef)
                kind_of = dict.fromkeys(sorted(bound(one.node) & reads), is_function)
                kinds.setdefault(one.cell.id, {}).update(kind_of)
        asked = [answer for answer, names in kinds.items() if names]
        if not asked:
            raise ValueError("it asks for nothing that students define")
        names = kinds[asked[-1]]
        targets = sorted(names, key=lambda name: not names[name])  # functions first
        if len(targets) > 1 and not names[targets[0]]:
            raise ValueError(f"it reads {', '.join(targets)} at once: a check reads one value")
        return asked[-1], tuple(targets)

    def stub(self, answer: str, target: str) -> str:
        """Return what an answer cell must begin with: where all of it is solution, a definition."""
        if defines(self._stubs.get(answer, ""), target):
            return ""
        of_answer = [one.node for one in self.statements if one.cell.id == answer]
        last = [one for one in of_answer if target in bound(one)][-1]
        if isinstance(last, ast.FunctionDef):
            return f"def {target}({ast.unparse(last.args)}):\n    raise NotImplementedError\n\n"
        return f"{target} = None\n"


def adopt(
    released: ReleasedSet, course: Course, only: Collection[str] = (), ungraded: bool = False
) -> Adopted:
    """Write a set into a course with checks.

    Runs the notebook's own code, as far as its tests and solutions need it, in a process beside.

    Args:
        released: the notebook, with those test cells left to people that do not work.
        only: the test cells to make checks of; all if empty.
        ungraded: let the others stand in the notebook without points and hidden tests.

    Raises:
        GraderError: if a cell is unknown, the set exists already, or nothing can be adopted; says
            why, and then nothing is written.
    """
    name = re.sub(r"\W", "_", released.name).lower()
    name = name if name[:1].isalpha() and not keyword.iskeyword(name) else f"set_{name}"
    source = copy.deepcopy(released.notebooks.source)
    for cell in source.cells:
        cell.source = with_usual_marks(cell.source, unusual_marks(released.course.folder))
    tests = {cell.id: cell for cell in source.cells if is_autograded(cell)}
    for unknown in sorted(set(only) - tests.keys()):
        raise GraderError(f"no test cell {unknown!r} in {released.name}; it has: {list(tests)}")
    folder = course.folder / name
    if folder.exists():
        raise GraderError(f"{folder} exists already; move it away first")
    notebook = _Notebook(released, source.cells)
    read: list[_Tests] = []
    left: dict[str, str] = {}
    for cell in only or tests:
        try:
            if cell in released.left_to_people:
                raise ValueError(released.left_to_people[cell])
            read.append(notebook.read(tests[cell]))
        except ValueError as error:
            left[cell] = str(error)
    files, left_out = to_hand_out(released.course.source(released.name).parent)
    calls = _tried(notebook, read, files)
    left |= {cell: reason for cell, reason in calls.items() if isinstance(reason, str)}
    items = _items([test for test in read if test.cell not in left], left)
    if not items:
        said = "; ".join(f"{cell}: {why}" for cell, why in left.items())
        raise GraderError(f"nothing in {released.name} can be adopted: {said}")
    written = {f"{item.name}.py": _check_file(notebook, item) for item in items}
    if ungraded:
        _ungrade(source, {test.cell for item in items for test in item.tests})
    points = sum(grading(cell).get("points", 0) for cell in source.cells)
    written["problem_set.py"] = _set_file(name, items, points)
    for item in items:
        cell = next(one for one in source.cells if one.id == item.tests[0].answer)
        cell.source = notebook.stub(cell.id, item.target) + cell.source
    written["notebook.py"] = jupytext.writes(_renamed(source, items), fmt="py:percent")
    contents = {name: text.encode() for name, text in written.items()}
    write_folder(folder, contents | {f"{FOLDER}/{name}": data for name, data in files.items()})
    done = {test.cell: int(calls[test.cell]) for item in items for test in item.tests}
    left = {cell: left[cell] for cell in tests if cell in left}
    return Adopted(folder, done, left, tuple(files), left_out)


def _tried(notebook: _Notebook, read: Sequence[_Tests], files: Files) -> dict[str, int | str]:
    """Call each function with the solution: say how many calls it makes, or why it cannot be."""
    if not read:
        return {}
    with temporary_folder("adopt") as folder:
        paths = {}
        for place, test in enumerate(read):
            paths[test.cell] = str(Path(folder, f"trial_{place}.py"))
            text = _check_file(notebook, _Item(f"trial_{place}", (test,)))
            Path(paths[test.cell]).write_text(text, encoding="utf-8")
        try:
            done = subprocess.run(
                [sys.executable, "-c", _TRIAL, str(put(files, folder / FOLDER)), *paths.values()],
                cwd=folder,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_TRIAL_SECONDS,
                check=False,
            )
            outcomes = json.loads(done.stdout.splitlines()[-1]) if done.stdout else {}
        except subprocess.TimeoutExpired:
            outcomes = {}
    unknown = f"its tests and solution did not run to an end within {_TRIAL_SECONDS} s"
    return {cell: outcomes.get(path, unknown) for cell, path in paths.items()}


def _items(read: Sequence[_Tests], left: dict[str, str]) -> list[_Item]:
    """Put the test cells of one answer together; note in `left` which cannot be, and why."""
    of_answer: dict[str, list[_Tests]] = {}
    for test in read:
        of_answer.setdefault(test.answer, []).append(test)
    items: dict[str, _Item] = {}
    for tests in of_answer.values():
        item = _item_name(tests[0].cell)
        if item in items:
            left |= {
                test.cell: f"its name becomes {item}, as that of another test cell does"
                for test in tests
            }
        else:
            items[item] = _Item(item, tuple(tests))
    return list(items.values())


def _item_name(cell: str) -> str:
    """Return a name for an item that its file can have: Python, a set or pytest reads others."""
    name = re.sub(r"\W", "_", cell)
    is_reserved = keyword.iskeyword(name) or name in _OWN_FILES or name.startswith("test_")
    return f"task_{name}" if is_reserved or not name[:1].isalpha() else name


def _body(inner: Sequence[ast.stmt], body: Sequence[ast.stmt], source: str) -> str:
    """Return a function's body: as it was written, where it is a block like this."""
    text = source.strip("\n")
    as_block = textwrap.indent(text, "    ")
    with contextlib.suppress(SyntaxError):
        (block,) = ast.parse(f"def tests():\n{as_block}\n").body
        assert isinstance(block, ast.FunctionDef)
        if list(map(ast.dump, block.body)) != list(map(ast.dump, body)):
            text = ast.unparse(ast.Module(list(body), []))
    return "\n".join([*map(ast.unparse, inner), text])


def _check_file(notebook: _Notebook, item: _Item) -> str:
    """Write a check that asks what the test cells asked."""
    around = sorted(set().union(*(test.around for test in item.tests)))
    functions, parts = [], []
    for number, test in enumerate(item.tests, start=1):
        functions.append(test.function(f"tests_{number}", item.target))
        title = "tests" if number == 1 else f"tests {number}"
        parts.append(test.part(title, f"tests_{number}", item.target))
    cells = ", ".join(test.cell for test in item.tests)
    return "\n".join(
        (
            f'"""The task {item.target}, from the assertions of {cells} in {notebook.name}.',
            "",
            "They run outside the sandbox; the reference is the notebook's own solution.",
            "To do: inputs drawn anew for each student, mistakes with hints, other right answers.",
            '"""',
            "",
            "from autograder.authoring.checks import Check",
            "from autograder.authoring.replay import asserted",
            "",
            *(ast.unparse(notebook.statements[place].node) for place in around),
            "",
            "",
            "\n\n".join(functions),
            "",
            "\n".join(("PARTS = (", *parts, ")")),
            "",
            "CHECK = Check(",
            f'    item="{item.name}",',
            f"    points={item.points:g},",
            f'    target="{item.target}",',
            f"    reference={item.target},",
            "    parts=PARTS,",
            ")",
            "",
        )
    )


def _set_file(name: str, items: Sequence[_Item], points: float) -> str:
    names = ", ".join(sorted(item.name for item in items))
    checks = "".join(f"        {item.name}.CHECK,\n" for item in items)
    return (
        f'"""The checks of {name}, in the order of the notebook."""\n\n'
        "from autograder.authoring.checks import ProblemSet\n\n"
        f"from . import {names}\n\n"
        f'PROBLEM_SET = ProblemSet(\n    name="{name}",\n    title="{name}",\n'
        f"    points={points:g},\n"
        f"    checks=(\n{checks}    ),\n)\n"
    )


def _ungrade(source: NotebookNode, adopted: Collection[str]) -> None:
    """Let the test cells that are not adopted be worth nothing, and hold what was visible."""
    for cell in source.cells:
        if is_autograded(cell) and cell.id not in adopted:
            cell.source = _HIDDEN.sub("", cell.source).strip("\n")
            grading(cell)["grade"] = False
            grading(cell).pop("points", None)


def _renamed(source: NotebookNode, items: Sequence[_Item]) -> NotebookNode:
    """Name test and answer cells as a set does; hidden tests that stand in a check are left out.

    Of several test cells for one answer, the last holds what was visible of all.
    """
    notebook = copy.deepcopy(source)
    answers = {item.tests[0].answer: f"{item.name}_answer" for item in items}
    of_test = {test.cell: item for item in items for test in item.tests}
    visible: dict[str, list[str]] = {}
    before: list[ast.stmt] = []
    for cell in notebook.cells:
        meta = grading(cell)
        if item := of_test.get(cell.id):
            body = ast.parse(as_python(cell.source)).body
            shown = _HIDDEN.sub("", cell.source).strip("\n")
            # A set's test cells do not see one another, as those in nbgrader's one kernel do.
            shared = needed(before, names_read(ast.parse(as_python(shown))))
            texts = visible.setdefault(item.name, [])
            texts += [ast.unparse(ast.Module(shared, []))] * bool(shared) + [shown] * bool(shown)
            before += [statement for statement in body if bound(statement)]
            cell.source = "\n\n".join(texts)
            meta |= {"grade_id": item.name, "points": item.points}
        elif meta:
            meta["grade_id"] = answers.get(cell.id, re.sub(r"\W", "_", cell.id))
        kept = {"nbgrader": {key: value for key, value in meta.items() if key != "checksum"}}
        cell.metadata = nbformat.from_dict(kept if meta else {})  # type: ignore[no-untyped-call]
    last = {item.tests[-1].cell for item in items}
    notebook.cells = [one for one in notebook.cells if one.id in last or one.id not in of_test]
    return notebook
