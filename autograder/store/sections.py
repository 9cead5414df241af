"""Which section each student is in, and who grades them: a file that the instructor writes."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from autograder.files import read_table

SECTIONS = "sections.csv"


@dataclass(frozen=True)
class Member:
    """One row of the file; `grader` is empty where it names none."""

    student: str
    section: str
    grader: str = ""


def read_sections(out: Path) -> Sequence[Member] | None:
    """Read `sections.csv` of a class; None if there is none.

    Raises:
        GraderError: if it cannot be read, or lacks a column; says what.
    """
    path = out / SECTIONS
    if not path.exists():
        return None
    table = read_table(path)
    student, section = table.index("student"), table.index("section")
    grader = table.find("grader")
    return [
        Member(row[student], row[section], row[grader] if grader is not None else "")
        for row in table.rows
    ]
