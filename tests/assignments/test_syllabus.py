"""The course's own syllabus agrees with the book, and with the calendars of the guide."""

import re
from pathlib import Path

import pytest

from autograder.authoring.course import find_course
from autograder.authoring.syllabus import Syllabus, calendars, read_syllabus

ROOT = Path(__file__).parents[2]
COURSE = find_course(ROOT / "assignments")
GUIDE = (ROOT / "book" / "back" / "instructors.md").read_text(encoding="utf-8")


def test_chapters_are_those_of_the_book_in_its_order_with_its_titles():
    contents = (ROOT / "book" / "_toc.yml").read_text(encoding="utf-8")
    of_book = {}
    for name in re.findall(r"file: chapters/(\w+)", contents):
        text = (ROOT / "book" / "chapters" / f"{name}.md").read_text(encoding="utf-8")
        of_book[name] = re.search(r"^# (.+)$", text, re.MULTILINE)[1]
    ours = COURSE.settings("syllabus")["chapters"]
    assert list(ours.items()) == list(of_book.items())


@pytest.mark.parametrize("calendar", calendars(COURSE))
def test_calendar_fits_and_sets_are_due_after_they_are_out(calendar):
    syllabus = read_syllabus(COURSE, calendar)
    assert syllabus.doubts == ()
    events = [event for row in syllabus.rows for event in row.events]
    for due in (event for event in events if event.endswith(" due")):
        assert events.index(due.replace("due", "out")) < events.index(due)
    if calendar != "workshop":
        read = [number for row in syllabus.rows for number, *_ in row.chapters]
        assert read == list(range(1, 17))


def in_guide(column: int) -> list[tuple[list[str], set[str]]]:
    """Chapters and what happens to sets, week by week, of the guide's table."""
    table = GUIDE[GUIDE.index("| week | 14 weeks | hours |") :].splitlines()[2:]
    rows = [line.split("|")[1:-1] for line in table[:14]]
    return [
        (re.findall(r"chapters/(\w+)\.md", row[column]), sets_in(row[column]))
        for row in rows
        if row[column].strip()
    ]


def sets_in(text: str) -> set[str]:
    return set(re.findall(r"ps\d (?:out|due)|mid-term|projects? (?:shown)", text))


def of(syllabus: Syllabus) -> list[tuple[list[str], set[str]]]:
    return [
        ([name for _, name, _ in row.chapters], sets_in("; ".join(row.events)))
        for row in syllabus.rows
    ]


@pytest.mark.parametrize(("calendar", "column"), [("14", 1), ("10", 3)])
def test_guide_has_the_same_calendars(calendar, column):
    assert in_guide(column) == of(read_syllabus(COURSE, calendar))
