"""Rubrics of written answers: the part of the course's `rubrics.md` that belongs to a set."""

import re

from autograder.authoring.course import Course

FILE = "rubrics.md"


def rubric_of(course: Course, name: str) -> str:
    """Return a set's rubric as Markdown; empty if the course has none for it."""
    path = course.folder / FILE
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    parts = re.split(r"^(?=## )", text, flags=re.MULTILINE)[1:]
    return "".join(part for part in parts if part.startswith(f"## {name}: "))
