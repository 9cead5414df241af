"""Read what an instructor wrote for nbgrader alone: a source notebook and the files beside it."""

import ast
import base64
import contextlib
import re
from collections.abc import Iterable
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbgrader.nbgraderformat import MetadataValidator

from autograder.authoring.locked_tests import as_python
from autograder.authoring.notebooks import grading
from autograder.records import GraderError

_MOST_BYTES = 16 << 20  # they are sent into the sandbox for each submission
_FLAGS = ("grade", "solution", "locked", "task")
_LEFT_OUT = {".ipynb", ".pyc"}

# In a namespace of its own, so that the notebook finds nothing that it has not defined.
_WRITE = """\
exec('''
import base64, os, sys
sys.path.insert(0, os.getcwd())  # as for a kernel: cells import what lies beside the notebook
for name, data in files.items():
    os.makedirs(os.path.dirname(name) or ".", exist_ok=True)
    with open(name, "wb") as file:
        file.write(base64.b64decode(data))
''', {"files": FILES})"""


def read_nbgrader_source(path: Path, autotest: str) -> NotebookNode:
    """Read a notebook of `source/`, also one of an older format, and name its cells by grade id.

    Args:
        autotest: what marks a comment of which nbgrader makes tests.

    Raises:
        GraderError: if it is no notebook in Python, or breaks nbgrader's rules; says which.
    """
    try:
        notebook: NotebookNode = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
        language = str(notebook.metadata.get("kernelspec", {}).get("language") or "python")
        validator = MetadataValidator()
        validator.upgrade_notebook_metadata(notebook)
        validator.validate_nb(notebook)
    except Exception as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise GraderError(f"{path} cannot be read: {reason[:300]}") from None
    if language.lower() not in ("python", "ipython"):
        raise GraderError(f"{path} is a notebook in {language}; this grader runs Python")
    notebook.nbformat_minor = 5  # the first whose cells have ids
    for index, cell in enumerate(notebook.cells):
        if grading(cell) and not any(grading(cell).get(flag) for flag in _FLAGS):
            del cell.metadata["nbgrader"]  # an ordinary cell, to nbgrader too
        cell.id = grading(cell).get("grade_id") or cell.get("id") or f"cell-{index:03d}"
        # nbgrader makes tests in graded cells alone, of what follows the mark.
        of_code = rf"^\s*#.*?{re.escape(autotest)}[ \t;]*[^\s;]"
        marked = re.search(of_code, cell.source, re.MULTILINE)
        if cell.cell_type == "code" and grading(cell).get("grade") and marked:
            command = f"nbgrader generate_assignment {path.parent.name} --source_with_tests"
            raise GraderError(
                f"{path}: only nbgrader makes tests of the {autotest} lines in the cell {cell.id}: "
                f"run `{command}` in the course's folder, after each change too; that is read then"
            )
    return notebook


def handed_out_files(folder: Path) -> tuple[str, ...]:
    """Return code that writes the files beside a source notebook, which students were given too.

    Returns:
        One cell, or none if there are no such files.

    Raises:
        GraderError: if they are too large to be sent into the sandbox each time.
    """
    paths = _handed_out(folder)
    try:
        n_bytes = sum(path.stat().st_size for path in paths)
        if n_bytes > _MOST_BYTES:
            raise GraderError(
                f"the files beside the notebooks in {folder} have {n_bytes} bytes; at most "
                f"{_MOST_BYTES} can be sent into the sandbox"
            )
        contents = {
            path.relative_to(folder).as_posix(): base64.b64encode(path.read_bytes()).decode()
            for path in paths
        }
    except OSError as error:
        raise GraderError(f"{error.filename} cannot be read: {error.strerror}") from None
    return (_WRITE.replace("FILES", repr(contents)),) if contents else ()


def files_read(folder: Path, cells: Iterable[str]) -> list[str]:
    """Return which files beside a source notebook its cells import or name in a text."""
    nodes: list[ast.AST] = []
    for cell in cells:
        with contextlib.suppress(ValueError):  # a magic that takes the cell
            nodes += ast.walk(ast.parse(as_python(cell)))
    named = {node.value for node in nodes if isinstance(node, ast.Constant)}
    imported = {name.name for node in nodes if isinstance(node, ast.Import) for name in node.names}
    imported |= {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
    modules = {name.partition(".")[0] for name in imported}
    read = []
    for path in _handed_out(folder):
        place = path.relative_to(folder)
        is_module = path.suffix == ".py" and place.parts[0].removesuffix(".py") in modules
        if is_module or {place.as_posix(), path.name} & named:
            read.append(place.as_posix())
    return read


def _handed_out(folder: Path) -> list[Path]:
    return sorted(
        path
        for path in folder.rglob("*")
        if path.is_file() and not path.is_symlink() and path.suffix not in _LEFT_OUT
        if not any(part.startswith(".") for part in path.relative_to(folder).parts)
    )
