"""Read what an instructor wrote for nbgrader alone: a source notebook and the files beside it."""

import base64
import re
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbgrader.nbgraderformat import MetadataValidator

from autograder.authoring.notebooks import grading
from autograder.handed_out import Files
from autograder.records import GraderError

_FLAGS = ("grade", "solution", "locked", "task")

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


def writing(files: Files) -> tuple[str, ...]:
    """Return code that writes the files beside a source notebook, which students were given too.

    They may write in them, as in a kernel of nbgrader's.

    Returns:
        One cell, or none if there are no files.
    """
    contents = {name: base64.b64encode(data).decode() for name, data in files.items()}
    return (_WRITE.replace("FILES", repr(contents)),) if contents else ()
