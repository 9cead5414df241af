"""Which files a notebook reads that students are not given."""

import ast
import contextlib
import importlib.util
import re
import sys
from collections.abc import Iterator

from autograder.authoring.locked_tests import as_python
from autograder.authoring.notebooks import is_ungraded_work
from autograder.authoring.release import Release
from autograder.handed_out import FOLDER, modules_in

_READS = re.compile(r"open|Image|imread|genfromtxt|load\w*|read_\w+|from_file", re.ASCII)
_WRITES = re.compile(r"save\w*|to_\w+|dump\w*|write\w*|urlretrieve|touch|mkdir|imsave", re.ASCII)
_COMMANDS = ("system", "getoutput", "run_line_magic")
_A_FILE = re.compile(r"(?!/|~|\w+:)[\w./ +-]*\w\.[A-Za-z]\w{0,4}")
_PICTURE = re.compile(
    r"!\[[^]\n]*\]\(\s*<?([^)>\s]+)|<img\b[^>]*?\bsrc\s*=\s*[\"']?([^\"'\s>]+)", re.I
)


def files_missing(release: Release) -> Iterator[str]:
    """Say of each cell which files it reads, shows or imports that are not handed out.

    A file is known by its name in the call that reads it, `pandas.read_csv("data.csv")`; one that
    the notebook writes itself is not missing.
    """
    given = {name.casefold() for name in release.files}
    modules, cells = modules_in(release.files), release.solution.cells
    trees = {cell.id: _tree(cell.source) for cell in cells if cell.cell_type == "code"}
    written = {name for tree in trees.values() for name in _named(tree, written=True)}
    for cell in cells:
        if is_ungraded_work(cell):
            continue
        pictures = _PICTURE.findall(cell.source) if cell.cell_type == "markdown" else ()
        shown = {one or other for one, other in pictures}
        named = {name for name in shown if _A_FILE.fullmatch(name)}
        named |= set(_named(trees[cell.id])) - written if cell.id in trees else set()
        for name in sorted(named):
            if name.removeprefix("./").casefold() not in given:
                yield f"{cell.id}: it reads {name}, which is not in {FOLDER}/: it is not handed out"
        for name in sorted(set(_imported(trees.get(cell.id))) - modules):
            if not _is_installed(name):
                yield (f"{cell.id}: it imports {name}, which is neither installed nor in {FOLDER}/")


def _tree(source: str) -> ast.Module:
    file = re.match(r"\s*%%writefile\s+(?:-a\s+)?(\S+)", source)
    if file:
        return ast.parse(f"write({file[1]!r})")
    with contextlib.suppress(ValueError):  # another magic that takes the cell
        return ast.parse(as_python(source))
    return ast.Module([], [])


def _named(tree: ast.Module, written: bool = False) -> Iterator[str]:
    """Yield the names of files that calls read, or else those that they write."""
    for call in ast.walk(tree):
        if not isinstance(call, ast.Call):
            continue
        called, texts = _called(call.func), _texts(call)
        if isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Call):
            texts += _texts(call.func.value)  # Path("data.csv").read_text()
        if called in _COMMANDS:  # !wget https://a.org/data.csv
            texts = [word.rpartition("/")[2] for text in texts for word in text.split()]
        modes = [text for text in texts if called == "open" and re.fullmatch("[rwaxbt+]+", text)]
        is_written = any(set(mode) & set("wax") for mode in modes) or called in _COMMANDS
        is_written |= _WRITES.fullmatch(called) is not None
        if is_written if written else _READS.fullmatch(called) and not is_written:
            yield from (text for text in texts if _A_FILE.fullmatch(text))


def _called(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _texts(call: ast.Call) -> list[str]:
    values = [*call.args, *(word.value for word in call.keywords)]
    constants = [one.value for one in values if isinstance(one, ast.Constant)]
    return [one for one in constants if isinstance(one, str)]


def _imported(tree: ast.Module | None) -> Iterator[str]:
    """Yield the packages that a cell cannot do without: what `try` may miss is its own affair."""
    for node in tree.body if tree else ():
        if isinstance(node, ast.Import):
            yield from (one.name.partition(".")[0] for one in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]


def _is_installed(name: str) -> bool:
    with contextlib.suppress(ImportError, ValueError):
        return name in sys.stdlib_module_names or importlib.util.find_spec(name) is not None
    return False
