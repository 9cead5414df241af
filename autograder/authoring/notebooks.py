"""What release and grading both know about the cells of a notebook."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nbformat import NotebookNode

# Cells that plug student code into the package and train it: seconds of work, never graded.
UNGRADED_TAG = "workshop"

NBGRADER_SETTINGS = "nbgrader_config.py"
"""The file in which a course for nbgrader keeps its settings."""


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


@dataclass(frozen=True)
class Cell:
    """One cell, released or submitted: what it holds, and what its metadata say of its role.

    Attributes:
        kind: "code", "markdown" or "raw".
        number: place in the file that it was read from, from 1; 0 for a cell of ours.
        origin: id of the released cell that it is, or once was.
    """

    kind: str
    source: str
    metadata: Mapping[str, Any]
    number: int = 0
    origin: str | None = None

    @cached_property
    def grading(self) -> dict[str, Any]:
        """Its nbgrader metadata, empty where there is none or it is no dict."""
        return _nbgrader(self.metadata)

    @cached_property
    def role(self) -> dict[str, Any]:
        """What its nbgrader metadata say about its role and worth."""
        keys = ("grade", "solution", "locked", "task", "points", "grade_id")
        return {key: self.grading[key] for key in keys if self.grading.get(key, False) is not False}

    @cached_property
    def is_answer(self) -> bool:
        """Whether students write in it."""
        return self.grading.get("solution") is True

    @cached_property
    def is_locked(self) -> bool:
        """Whether it is part of the assessment, and not for students to change."""
        return bool(self.grading) and not self.is_answer

    @cached_property
    def is_graded(self) -> bool:
        """Whether it earns points."""
        return self.grading.get("grade") is True or self.grading.get("task") is True

    @cached_property
    def is_autograded(self) -> bool:
        """Whether it stands for a check."""
        return self.grading.get("grade") is True and not self.is_answer

    @cached_property
    def is_ungraded_work(self) -> bool:
        """Whether it is left out while grading, by its tag."""
        tags = self.metadata.get("tags")
        return isinstance(tags, list) and UNGRADED_TAG in tags

    @cached_property
    def text(self) -> str:
        """Its source without what editors add: spaces at the ends of lines, empty lines around."""
        return "\n".join(line.rstrip() for line in self.source.strip().splitlines())


def grading(cell: Mapping[str, Any]) -> dict[str, Any]:
    """Return a cell's nbgrader metadata, empty where there is none or it is no dict."""
    return _nbgrader(cell.get("metadata"))


def _nbgrader(metadata: object) -> dict[str, Any]:
    marks = metadata.get("nbgrader") if isinstance(metadata, dict) else None
    return marks if isinstance(marks, dict) else {}


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


def is_number(value: object) -> bool:
    """Whether this can be a number of points."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def defines(source: str, name: str) -> bool:
    """Whether a line of code binds `name` at the top level.

    By its text, not its syntax tree: a cell with a slip in another line still defines the name,
    and no parser has to bear what a student sends.
    """
    definition = rf"^(?:(?:async[ \t]+)?def|class)[ \t]+{name}\b"
    assignment = rf"^{name}[ \t]*(?::[^=\n]*)?=(?!=)"
    return re.search(f"{definition}|{assignment}", source, re.MULTILINE) is not None
