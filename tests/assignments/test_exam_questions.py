"""The exam questions: three for each chapter, complete, with numbers that code computes."""

import math
import re
from fractions import Fraction
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "assignments" / "exam_questions.md").read_text(encoding="utf-8")
SECTIONS = {
    part.splitlines()[0].strip(): part for part in re.split(r"^## ", TEXT, flags=re.MULTILINE)[1:]
}
QUESTION = re.compile(
    r"^\*\*(\d+)\.(\d) (.+?)\*\* \((\d+) minutes, (\d+) points\)\.$", re.MULTILINE
)


def test_every_chapter_has_three_complete_questions():
    contents = (ROOT / "book" / "_toc.yml").read_text(encoding="utf-8")
    chapters = re.findall(r"file: chapters/(\w+)", contents)
    assert chapters == list(SECTIONS)[: len(chapters)]  # in the book's order
    for number, section in enumerate(SECTIONS.values(), start=1):
        questions = QUESTION.findall(section)
        assert [(int(a), int(b)) for a, b, *_ in questions] == [(number, i) for i in (1, 2, 3)]
        assert all(minutes == points for *_, minutes, points in questions)
        assert section.count("*Answer.*") == section.count("*Look for*") == 3


@pytest.mark.parametrize("slug", SECTIONS)
def test_numbers_of_the_answers(slug: str):
    for code in re.findall(r"^```python\n(.*?)^```$", SECTIONS[slug], re.MULTILINE | re.DOTALL):
        assert "assert" in code
        exec(code, {"math": math, "torch": torch, "Fraction": Fraction})


def test_questions_are_not_in_what_students_get():
    notebooks = (ROOT / "assignments").glob("ps*/notebook.py")
    pages = (ROOT / "book").rglob("*.md")
    titles = [title for _, _, title, *_ in QUESTION.findall(TEXT)]
    for path in (*notebooks, *pages):
        text = path.read_text(encoding="utf-8")
        assert "exam_questions" not in text or path.name == "instructors.md"
        assert not [t for t in titles if f"**{t}**" in text]
