"""A small course as an instructor writes it for nbgrader alone, of a notebook or of two."""

from pathlib import Path

import nbformat
from nbformat import NotebookNode

from autograder.authoring.course import NbgraderCourse
from autograder.authoring.release import ReleasedSet

LOCKED, ANSWER = {"locked": True}, {"solution": True}
SQUARES = "def squares(n):\n    return [i * i for i in range(n)]"


def tests(points: float) -> dict[str, object]:
    return {"grade": True, "locked": True, "points": points}


# Each cell: its grade id ("" for an ordinary cell), its role, its source.
CELLS = [
    ("", {}, "# Homework 1"),
    ("imports", LOCKED, "import math"),
    (
        "squares_answer",
        ANSWER,
        "def squares(n):\n    ### BEGIN SOLUTION\n    return [i * i for i in range(n)]\n"
        "    ### END SOLUTION",
    ),
    (
        "squares",
        tests(4),
        "from math import isclose\n"
        'assert squares(3) == [0, 1, 4], "squares(3) is [0, 1, 4]."\n'
        "### BEGIN HIDDEN TESTS\n"
        'assert squares(17)[-1] == 256, "the seventeenth is 256"\n'
        "assert squares(0) == []\n"
        "### END HIDDEN TESTS",
    ),
    (
        "mean-answer",
        ANSWER,
        "def mean(numbers):\n    ### BEGIN SOLUTION\n    return sum(numbers) / len(numbers)\n"
        "    ### END SOLUTION",
    ),
    # It reads what the cell before it has imported: in a kernel they share all names.
    ("mean-tests", tests(2), "assert isclose(mean([1, 2]), 1.5)"),
    ("share", tests(4), "correct = sum(squares(n) == [0, 1][:n] for n in range(2))\n2 * correct"),
    (
        "why",
        {"grade": True, "solution": True, "points": 5},
        "Say why.\n\n### BEGIN SOLUTION\nBecause.\n### END SOLUTION",
    ),
]  # fmt: skip


def notebook(cells=CELLS, **metadata) -> NotebookNode:
    """Put a notebook together."""
    made = []
    for grade_id, role, source in cells:
        is_code = bool(grade_id) and grade_id != "why"
        cell = (nbformat.v4.new_code_cell if is_code else nbformat.v4.new_markdown_cell)(source)
        if grade_id:
            flags = dict.fromkeys(("grade", "solution", "locked", "task"), False)
            cell.metadata["nbgrader"] = flags | role | {"grade_id": grade_id, "schema_version": 3}
        made.append(cell)
    return nbformat.v4.new_notebook(cells=made, metadata=metadata)


def write(path: Path, made: NotebookNode) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(made, path)
    return path


def make_course(folder: Path, name: str = "hw1", **source) -> Path:
    write(folder / "source" / name / f"{name}.ipynb", notebook(**source))
    return folder


def hand_in(course: Path, student: str, name: str = "hw1", **answers: str) -> Path:
    """Hand in what was released, with some cells' text replaced; a cell without text is gone."""
    known = {"squares_answer": SQUARES}
    known |= {grade_id.replace("__", "-"): text for grade_id, text in answers.items()}
    made = ReleasedSet(NbgraderCourse(course), "hw1").notebooks.student
    for cell in made.cells:
        cell.source = known.get(cell.id, cell.source)
    made.cells = [cell for cell in made.cells if cell.source]
    return write(course / "submitted" / student / "hw1" / f"{name}.ipynb", made)
