"""Rubrics of written answers: the part of the course's `rubrics.md` that belongs to a set.

## ps1: ps1_explain_contexts (8 points)      the answer's grade id
### 1. Both ratios (2 points)                what is asked of it
- 2: both, and for which word each speaks.   a level, or two: "- 2 or 1: ..."
"""

import re
from dataclasses import dataclass

from autograder.authoring.course import Course

FILE = "rubrics.md"
_NUMBER = r"\d+(?:\.\d+)?"
_LEVEL = re.compile(rf"^- ({_NUMBER})(?: or ({_NUMBER}))?: (.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Level:
    """What an answer shows that is worth so many points."""

    points: float
    text: str


@dataclass(frozen=True)
class Criterion:
    """One thing that is asked of a written answer, with its levels, the best first."""

    title: str
    levels: tuple[Level, ...]


def rubric_of(course: Course, name: str) -> str:
    """Return a set's rubric as Markdown; empty if the course has none for it."""
    path = course.folder / FILE
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    parts = re.split(r"^(?=## )", text, flags=re.MULTILINE)[1:]
    return "".join(part for part in parts if part.startswith(f"## {name}: "))


def criteria_of(course: Course, name: str) -> dict[str, tuple[Criterion, ...]]:
    """Return, for each written answer of a set that has a rubric, what is asked of it."""
    criteria = {}
    for part in re.split(r"^## ", rubric_of(course, name), flags=re.MULTILINE)[1:]:
        head, *questions = re.split(r"^### ", part, flags=re.MULTILINE)
        item = head.partition(": ")[2].split()[0]
        criteria[item] = tuple(map(_criterion, questions))
    return criteria


def _criterion(text: str) -> Criterion:
    title, _, rest = text.partition("\n")
    levels = [
        Level(float(points), said.strip())
        for low_or_high in _LEVEL.finditer(rest)
        for said in [low_or_high[3]]
        for points in low_or_high.groups()[:2]
        if points
    ]
    return Criterion(title.strip(), tuple(levels))
