"""What release and grading both know about the cells of a notebook."""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nbformat import NotebookNode

# Cells that plug student code into the package and train it: seconds of work, never graded.
UNGRADED_TAG = "workshop"


def assignment_and_notebook(name: str) -> tuple[str, str]:
    """Return what nbgrader calls a set: its assignment, and the notebook in that assignment.

    Where the two differ, a set is named `assignment+notebook`: nbgrader allows no + in either.
    """
    assignment, _, notebook = name.partition("+")
    return assignment, notebook or assignment


def as_text(notebook: "NotebookNode") -> str:
    """Return the notebook file's text, as nbgrader writes it."""
    import nbformat  # the rest of this file serves where it is not installed

    text: str = nbformat.writes(notebook, version=4)  # type: ignore[no-untyped-call]
    return text.rstrip("\n") + "\n"


def grading(cell: Mapping[str, Any]) -> dict[str, Any]:
    """Return a cell's nbgrader metadata, empty where there is none or it is no dict."""
    metadata = cell.get("metadata")
    found = metadata.get("nbgrader") if isinstance(metadata, dict) else None
    return found if isinstance(found, dict) else {}


def is_answer(cell: Mapping[str, Any]) -> bool:
    """Whether students write in this cell of a source notebook."""
    return grading(cell).get("solution") is True


def is_graded(cell: Mapping[str, Any]) -> bool:
    """Whether this cell of a source notebook earns points."""
    return grading(cell).get("grade") is True or grading(cell).get("task") is True


def is_autograded(cell: Mapping[str, Any]) -> bool:
    """Whether this cell of a source notebook stands for a check."""
    return grading(cell).get("grade") is True and not is_answer(cell)


def is_ungraded_work(cell: Mapping[str, Any]) -> bool:
    """Whether a cell is left out while grading, by its tag."""
    metadata = cell.get("metadata")
    tags = metadata.get("tags") if isinstance(metadata, dict) else None
    return isinstance(tags, list) and UNGRADED_TAG in tags


def defines(source: str, name: str) -> bool:
    """Whether a line of code binds `name` at the top level.

    By its text, not its syntax tree: a cell with a slip in another line still defines the name,
    and no parser has to bear what a student sends.
    """
    definition = rf"^(?:(?:async[ \t]+)?def|class)[ \t]+{name}\b"
    assignment = rf"^{name}[ \t]*(?::[^=\n]*)?=(?!=)"
    return re.search(f"{definition}|{assignment}", source, re.MULTILINE) is not None
