"""What the statements of a notebook do with its names, as far as their text tells."""

import ast
import builtins
import contextlib
from collections.abc import Collection, Sequence

from autograder.authoring.locked_tests import as_python, bound, names_read

IMPORTS = (ast.Import, ast.ImportFrom)


def makes(statement: ast.stmt, modules: Collection[str] = ()) -> set[str]:
    """Name what a statement binds, or changes by its methods or in its places: `rows.append(x)`.

    Args:
        modules: names that are imported; what is done to those counts for nothing.
    """
    names = bound(statement)
    if isinstance(statement, ast.Import | ast.ImportFrom | ast.FunctionDef | ast.ClassDef):
        return names
    for node in ast.walk(statement):
        places: list[ast.expr] = []
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            called = node.value.func
            places = [called] if isinstance(called, ast.Attribute) else []
        elif isinstance(node, ast.Subscript | ast.Attribute) and isinstance(node.ctx, ast.Store):
            places = [node]
        names |= set(map(_root, places)) - {""} - set(modules)
    return names


def _root(node: ast.expr) -> str:
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def leading_to(helpers: Sequence[ast.stmt], targets: set[str]) -> list[ast.stmt]:
    """Return the definitions that use what students define, at first hand or through others."""
    needed: list[ast.stmt] = []
    names = set(targets)
    while more := [one for one in helpers if one not in needed and names_read(one) & names]:
        needed += more
        names |= set().union(*map(bound, more))
    return [one for one in helpers if one in needed]


def is_magic(statement: ast.stmt) -> bool:
    """Whether it is a command to Jupyter, as IPython writes it: what is drawn is not judged."""
    return "get_ipython()" in ast.unparse(statement) and isinstance(statement, ast.Expr)


def without_magics(source: str) -> str:
    """Return a cell as Python runs it, without commands to Jupyter, which may be all of it."""
    if source.lstrip().startswith("%%"):
        with contextlib.suppress(ValueError):
            return as_python(source)
        return ""
    with contextlib.suppress(SyntaxError):
        ast.parse(source)
        return source
    with contextlib.suppress(ValueError):
        body = ast.parse(as_python(source)).body
        return ast.unparse(ast.Module([one for one in body if not is_magic(one)], []))
    return source


def is_partial_credit(body: Sequence[ast.stmt]) -> bool:
    """Whether a cell ends with an expression that is no call: Jupyter shows it, nbgrader counts it.

    Of calls, those of Python's own functions count, too: round(points, 1).
    """
    last = body[-1].value if body and isinstance(body[-1], ast.Expr) else ast.Constant("")
    if isinstance(last, ast.Call) and isinstance(last.func, ast.Name):
        return last.func.id in vars(builtins) and last.func.id != "print"
    return not isinstance(last, ast.Call | ast.Constant)
