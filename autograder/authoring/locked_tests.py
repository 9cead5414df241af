"""Make checks of the test cells of a notebook that was written for nbgrader alone.

Such a cell is code that compares what the student's code gives with what is right, in one process
with it. So it enters the sandbox as it is, in a fork of its own after the student's cells, and out
comes where it stopped. That is less than other checks promise: student code meets the expected
values and could forge what comes out, though it can harm neither the machine nor another's grade.
"""

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from IPython.core.inputtransformer2 import TransformerManager
from nbformat import NotebookNode

from autograder.authoring.checks import Case, Check, Inputs, Part
from autograder.authoring.notebooks import grading, is_autograded

_HIDDEN = ("BEGIN HIDDEN TESTS", "END HIDDEN TESTS")
_CAPTURE = re.compile(r"\A\s*%%capture\b(?:[ \t]+--no-\w+)*[ \t]+(?P<name>[^\W\d]\w*)[^\n]*\n?")
_CAPTURES = '__import__("IPython.utils.capture", fromlist=["*"]).capture_output()'
_SCOPES = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_HEAD = (ast.expr, ast.withitem)


def run_tests(namespace: "dict[str, Any]", inputs: "Inputs") -> "tuple[int, str, float | None]":
    """Run a test cell where the student's cells have run.

    Returns:
        The line of the statement at which it stopped, 0 if it did not; the exception's name; and
        the number that the cell ends with, if it does: nbgrader takes it for partial credit.
    """
    import ast
    import asyncio
    import contextlib
    import inspect

    def execute(tree: "Any", mode: str) -> "Any":
        code = compile(tree, "<tests>", mode, ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        value = eval(code, namespace)
        return asyncio.run(value) if code.co_flags & inspect.CO_COROUTINE else value

    for source, bound_later in inputs["shared"]:
        if not bound_later or any(name not in namespace for name in bound_later):
            with contextlib.suppress(BaseException):  # in a kernel, the next cell runs all the same
                execute(ast.parse(source), "exec")
    line = -1
    value: Any = None
    try:
        statements = ast.parse(inputs["tests"]).body
        for statement in statements:
            line = statement.lineno
            if isinstance(statement, ast.Expr) and statement is statements[-1]:
                value = execute(ast.Expression(statement.value), "eval")
            else:
                execute(ast.Module([statement], []), "exec")
        value = value.item() if getattr(value, "ndim", None) == 0 else value
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return 0, "", float(value) if is_number and inputs["shows"] else None
    except BaseException as error:
        return line, type(error).__name__, None


def locked_tests(
    recorded: NotebookNode, marks: Mapping[str, str], seconds: float
) -> tuple[tuple[Check, ...], dict[str, str]]:
    """Make a check of every test cell of a notebook, hidden tests included.

    Args:
        marks: for each mark of hidden tests that is not nbgrader's own, that one.
        seconds: how long a cell may run.

    Returns:
        The checks; and of each cell that only a person can grade, why.
    """
    checks, refused = [], {}
    before: list[ast.stmt] = []
    bound_since: list[tuple[int, set[str]]] = []
    for cell in recorded.cells:
        if not is_autograded(cell):
            bound_since.append((len(before), _bound_by(cell)))
            continue
        item = grading(cell)["grade_id"]
        try:
            tests = _as_run(with_usual_marks(cell.source, marks))
        except ValueError as error:
            refused[item] = str(error)
            continue
        tree = ast.parse(tests)
        shared = [
            (ast.unparse(statement), sorted(_bound_later(statement, before, bound_since)))
            for statement in needed(before, {"*"} | read_first(tree.body))
        ]
        inputs = {"tests": tests, "shared": shared, "shows": ends_with_value(tests)}
        case = Case("the tests", inputs)
        part = Part("tests", "The tests of this task pass.", _always(case), run_tests)
        points = float(grading(cell)["points"])
        checks.append(Check(item, points, "", None, (part,), seconds=seconds))
        before += [statement for statement in tree.body if bound(statement)]
    return tuple(checks), refused


def _bound_by(cell: NotebookNode) -> set[str]:
    """Name what a cell binds that is no test cell, as it was released."""
    try:
        tree = ast.parse(_as_run(cell.source)) if cell.cell_type == "code" else ast.Module([], [])
    except ValueError:
        return set()
    return set().union(*map(bound, tree.body))


def _bound_later(
    statement: ast.stmt, before: Sequence[ast.stmt], bound_since: Sequence[tuple[int, set[str]]]
) -> set[str]:
    """Name what a test cell's statement binds, where cells after it, of no tests, bind all of it.

    Those have run already; in a kernel they run after the statement, and theirs is what counts.
    """
    place = next(index for index, one in enumerate(before) if one is statement)
    later = set().union(*(names for start, names in bound_since if start > place))
    return bound(statement) if bound(statement) <= later else set()


def ends_with_value(tests: str) -> bool:
    """Whether a test cell ends with an expression that Jupyter shows: it may be partial credit."""
    last = ast.parse(tests).body[-1:]
    return isinstance(next(iter(last), None), ast.Expr) and not tests.rstrip().endswith(";")


def with_usual_marks(source: str, marks: Mapping[str, str]) -> str:
    """Write a course's own marks as nbgrader does where nothing else is said.

    Args:
        marks: nbgrader's mark for each; a line that contains one is a mark and nothing else.
    """
    lines = source.split("\n")
    for own, usual in marks.items():
        for number, line in enumerate(lines):
            if own in line:
                indent = line[: len(line) - len(line.lstrip())]
                lines[number] = f"{indent}### {usual}"
    return "\n".join(lines)


def message_at(tests: str, line: int) -> str:
    """Return what the author says where a visible assertion at this line does not hold.

    Empty where the line is hidden, is no assertion, or says something that is computed.
    """
    hidden = False
    for text in tests.splitlines()[:line]:
        hidden = _HIDDEN[0] in text or (hidden and _HIDDEN[1] not in text)
    for statement in ast.parse(tests).body:
        if statement.lineno == line and isinstance(statement, ast.Assert) and not hidden:
            said = statement.msg
            return str(said.value) if isinstance(said, ast.Constant) else ""
    return ""


def _always(case: Case) -> Callable[[np.random.Generator], Sequence[Case]]:
    return lambda rng: [case]


def as_python(source: str) -> str:
    """Return a cell as Python, with its magics as IPython writes them.

    Raises:
        ValueError: if it is none, or a magic takes all of it; says so.
    """
    source = re.sub(r"\A\s*%%(time|capture)\b[^\n]*", "", source)  # they run the rest as it is
    if source.lstrip().startswith("%%"):
        raise ValueError(f"it begins with {source.split()[0]}, which takes the whole cell as text")
    try:
        ast.parse(source)
        return source
    except SyntaxError:
        changed = TransformerManager().transform_cell(source)  # type: ignore[no-untyped-call]
    try:
        ast.parse(changed)
    except SyntaxError as error:
        raise ValueError(f"it is not Python: {error.msg}, line {error.lineno}") from None
    return changed


def _as_run(source: str) -> str:
    """Do as `as_python`; where `%%capture NAME` begins a cell, what it prints is kept as NAME."""
    captured = _CAPTURE.match(source)
    python = as_python(source)
    if captured is None:
        return python
    lines = [f"with {_CAPTURES} as {captured['name']}:", "    pass"]
    (within,) = ast.parse("\n".join(lines)).body
    assert isinstance(within, ast.With)
    within.body = ast.parse(python).body or within.body
    return ast.unparse(within)


def needed(
    before: Sequence[ast.stmt],
    read: set[str],
    makes: Callable[[ast.stmt], set[str]] | None = None,
) -> list[ast.stmt]:
    """Choose what earlier tests define and these read: in nbgrader all share one kernel.

    Args:
        makes: names what a statement makes for later ones; by default what it binds.
    """
    read, chosen = set(read), []
    for statement in reversed(before):
        if (makes or bound)(statement) & read:
            chosen.append(statement)
            read |= names_read(statement)
    return chosen[::-1]


def bound(statement: ast.stmt) -> set[str]:
    """Name what a statement defines where it stands; of `import *` that is "*"."""
    return _bound(statement)


def _bound(node: ast.AST) -> set[str]:
    if isinstance(node, ast.Import | ast.ImportFrom):
        return {(alias.asname or alias.name).split(".")[0] for alias in node.names}
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {node.name}
    if isinstance(node, _SCOPES):
        return set()
    if isinstance(node, ast.Name):
        return set() if isinstance(node.ctx, ast.Load) else {node.id}
    own = {node.name} if isinstance(node, ast.ExceptHandler) and node.name else set()
    return own.union(*map(_bound, ast.iter_child_nodes(node)))


def names_read(tree: ast.AST) -> set[str]:
    """Return the names that code reads; any may come from `import *`, which binds "*" here."""
    return {"*"} | _read(tree)


def _read(node: ast.AST) -> set[str]:
    """Return the names that are read from where the code stands; not what is a function's own."""
    if isinstance(node, ast.Name):
        return {node.id} if isinstance(node.ctx, ast.Load) else set()
    if isinstance(node, ast.AugAssign):
        return _read(node.value) | {one.id for one in [node.target] if isinstance(one, ast.Name)}
    read = set().union(*map(_read, ast.iter_child_nodes(node)))
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        body = node.body if isinstance(node.body, list) else []
        inside = ast.walk(node)
        shared = {name for one in inside if isinstance(one, ast.Global) for name in one.names}
        own = {one.arg for one in ast.walk(node.args) if isinstance(one, ast.arg)}
        # What its decorators and defaults read, they read outside.
        outside = set().union(*map(_read, (node.args, *getattr(node, "decorator_list", []))))
        return read - (own.union(*map(_bound, body)) - shared) | outside
    generators = getattr(node, "generators", [])  # of a comprehension
    return read - set().union(*(_bound(one.target) for one in generators))


def read_first(statements: Sequence[ast.stmt]) -> set[str]:
    """Return the names that statements read before they have bound them themselves."""
    read: set[str] = set()
    own: set[str] = set()
    for statement in statements:
        inner = _blocks(statement)
        if inner:  # which may not run
            head = [one for one in ast.iter_child_nodes(statement) if isinstance(one, _HEAD)]
            targets = set().union(*map(_bound, head))
            read |= set().union(*map(_read, head)) - own
            read |= set().union(*map(read_first, inner)) - own - targets
        else:
            read |= _read(statement) - own
            own |= bound(statement)
    return read


def _blocks(statement: ast.stmt) -> list[list[ast.stmt]]:
    """Return the blocks of a loop, a condition, a `with` or a `try`."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return []
    handlers = getattr(statement, "handlers", [])
    blocks = [getattr(statement, name, []) for name in ("body", "orelse", "finalbody")]
    cases = getattr(statement, "cases", [])
    return [block for block in (*blocks, *(one.body for one in (*handlers, *cases))) if block]
