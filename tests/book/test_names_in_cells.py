"""What the cells of a chapter take from the package is there, and is called by names that it has.

And every name that they use is one that the page imports, defines, or finds in Python.

`make course` and `make test-all` run every cell. This sees in seconds, without running any, that a
name or an argument was changed and a page was forgotten.
"""

import ast
import builtins
import importlib
import inspect
import re
import symtable
from collections.abc import Iterator
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "book"
CELL = re.compile(r"^```\{code-cell\}[^\n]*\n(?::[^\n]*\n)*(.*?)^```$", re.DOTALL | re.M)
CODE = re.compile(r"^```(?:\{code-cell\}|python)[^\n]*\n(?::[^\n]*\n)*(.*?)^```$", re.DOTALL | re.M)
PAGES = {
    path.relative_to(FOLDER).as_posix(): path.read_text(encoding="utf-8")
    for path in sorted(FOLDER.rglob("*.md"))
    if "import course_pkg" in (text := path.read_text(encoding="utf-8"))
    or "from course_pkg" in text
}


def trees(page: str) -> Iterator[ast.Module]:
    """Yield each block of code of a page, parsed; a fragment that is no whole code is left out."""
    for code in CODE.findall(page):
        try:
            yield ast.parse(re.sub(r"^\s*[%!].*$", "", code, flags=re.MULTILINE))
        except SyntaxError:
            assert "..." in code or "course_pkg" not in code, code


def taken(page: str) -> dict[str, object]:
    """Import what the page imports from the package, by the name that it has on the page."""
    things: dict[str, object] = {}
    for tree in trees(page):
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and str(node.module).startswith("course_pkg"):
                module = importlib.import_module(node.module)
                for name in node.names:
                    things[name.asname or name.name] = getattr(module, name.name)
    return things


def resolved(node: ast.expr, things: dict[str, object]) -> object:
    """Return what `plots.show` stands for; None if it is not the package's."""
    if isinstance(node, ast.Name):
        return things.get(node.id)
    if isinstance(node, ast.Attribute):
        owner = resolved(node.value, things)
        if inspect.ismodule(owner) or inspect.isclass(owner):
            return getattr(owner, node.attr)
    return None


@pytest.mark.parametrize("name", PAGES)
def test_cells_take_from_the_package_what_it_offers_by_the_names_that_it_has(name):
    page = PAGES[name]
    things, wrong = taken(page), []
    for node in (node for tree in trees(page) for node in ast.walk(tree)):
        if not isinstance(node, ast.Call):
            continue
        called = resolved(node.func, things)
        if not callable(called):
            continue
        try:
            known = inspect.signature(called).parameters.values()
        except ValueError:  # a subclass of a built-in type has none
            continue
        if any(parameter.kind is parameter.VAR_KEYWORD for parameter in known):
            continue
        names = {one.name for one in known if one.kind is not one.POSITIONAL_ONLY}
        given = {keyword.arg for keyword in node.keywords} - {None}
        by_place = [p for p in known if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        is_long = len(node.args) > len(by_place) and not any(
            parameter.kind is parameter.VAR_POSITIONAL for parameter in known
        )
        if given - names or (is_long and not any(isinstance(a, ast.Starred) for a in node.args)):
            wrong.append(ast.unparse(node)[:120])
    assert wrong == []


def unknown(code: str) -> set[str]:
    """Return the names that code uses and neither binds nor finds in Python, in whatever order."""
    tables, bound, used = [symtable.symtable(code, "page", "exec")], set(), set()
    while tables:
        table = tables.pop()
        tables += table.get_children()
        for symbol in table.get_symbols():
            if table.get_type() == "module" and (symbol.is_assigned() or symbol.is_imported()):
                bound.add(symbol.get_name())
            elif symbol.is_global() or table.get_type() == "module":
                used.add(symbol.get_name())
    return used - bound - set(dir(builtins)) - {"__name__", "__file__", "__doc__"}


@pytest.mark.parametrize("name", [name for name in PAGES if CELL.search(PAGES[name])])
def test_cells_use_no_name_that_the_page_does_not_bring(name):
    cells = "\n".join(CELL.findall(PAGES[name]))
    assert unknown(re.sub(r"^\s*[%!].*$", "", cells, flags=re.MULTILINE)) == set()


def test_missing_import_is_seen_wherever_it_is_used():
    code = (
        "import math\ndef area(r):\n    return [math.pi * r**2 for r in np.ones(r)]\nprint(area(2))"
    )
    assert unknown(code) == {"np"}
