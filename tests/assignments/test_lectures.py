"""Outlines of lectures: short, complete, and their quoted mistakes are those of the catalogue."""

import re
from pathlib import Path

import pytest

from autograder.authoring.course import find_course

ROOT = Path(__file__).parents[2]
COURSE = find_course(ROOT / "assignments")
OUTLINES = sorted((COURSE.folder / "lectures").glob("*.md"))


def test_every_chapter_has_slides_and_an_outline():
    decks = {path.stem for path in (ROOT / "book" / "slides").glob("*.md")}
    assert {path.stem for path in OUTLINES} == decks == set(COURSE.settings("syllabus")["chapters"])


@pytest.mark.parametrize("path", OUTLINES, ids=lambda path: path.stem)
def test_outline_says_all_in_two_minutes(path):
    text = path.read_text(encoding="utf-8")
    title = COURSE.settings("syllabus")["chapters"][path.stem].partition(":")[0]
    assert text.startswith(f"# {title}")
    parts = ("Derive", "Where students", "Show live", "Ask the room", "On the clock", "If you are")
    for part in parts:
        assert f"**{part}" in text, part
    assert 200 <= len(text.split()) <= 420


@pytest.mark.parametrize("path", OUTLINES, ids=lambda path: path.stem)
def test_mistakes_are_quoted_as_students_read_them(path):
    quoted = re.findall(r'^- ((ps\d)_\w+): "(.+)"$', path.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(quoted) >= 5
    for item, name, said in quoted:
        checks = {check.item: check for check in COURSE.problem_set(name).checks}
        assert said in [mistake.name for mistake in checks[item].mistakes], (item, said)


@pytest.mark.parametrize("path", OUTLINES, ids=lambda path: path.stem)
def test_slides_that_may_be_left_out_are_there(path):
    late = re.search(r"If you are late.*", path.read_text(encoding="utf-8"))[0]
    deck = (ROOT / "book" / "slides" / path.name).read_text(encoding="utf-8")
    n_slides = len(re.findall(r"^## ", deck, re.MULTILINE))
    named = [
        int(n)
        for group in re.findall(r"\((?:slide )?([\d and]+)[:)]", late)
        for n in re.findall(r"\d+", group)
    ]
    assert named and max(named) <= n_slides


@pytest.mark.parametrize("path", OUTLINES, ids=lambda path: path.stem)
def test_what_is_never_left_out_has_its_slide_and_the_clock_is_the_deck_s(path):
    text = path.read_text(encoding="utf-8")
    assert re.search(r"\bNever [^:.]*\(\d+(?: and \d+)?\)", text)
    deck = (ROOT / "book" / "slides" / path.name).read_text(encoding="utf-8")
    minutes = [float(m) for m in re.findall(r"^::notes ([\d.]+)", deck, re.MULTILINE)]
    clock = re.search(r"\*\*On the clock\*\*.*", text)[0]
    stated = re.findall(r"slide (\d+) (?:begins )?at minute ([\d.]+\d|\d)", clock)
    assert len(stated) == 2
    for slide, minute in stated:
        assert sum(minutes[: int(slide) - 1]) == float(minute)


@pytest.mark.parametrize("path", OUTLINES, ids=lambda path: path.stem)
def test_minutes_at_the_board_are_those_of_the_slides(path):
    stated = re.search(
        r"Derive on the board\*\* \((\d+) minutes\)", path.read_text(encoding="utf-8")
    )
    deck = (ROOT / "book" / "slides" / path.name).read_text(encoding="utf-8")
    board = sum(map(float, re.findall(r"^::notes .*\bboard ([\d.]+)", deck, re.MULTILINE)))
    assert stated and abs(int(stated[1]) - board) <= 0.5
