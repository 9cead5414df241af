"""The syllabus says what course.toml says, and names what does not fit together."""

import json

import pytest
from click.testing import CliRunner

from autograder.authoring.syllabus import calendars, read_syllabus
from autograder.cli import main as cli
from autograder.records import GraderError
from autograder.reports.documents import chromium
from autograder.reports.syllabus_page import syllabus_markdown
from tests.autograder.conftest import make_toy_course

SETTINGS = """
late_days = 3
[defaults]
penalty_percent = 20
cap_percent = 60
grace_minutes = 5
[assistants]
rule = "Ask, and write yourself."
toy = "Anything goes."
[book]
address = "https://lm.example.edu/book"
[sets.toy]
released = 2027-10-05 09:00:00
due = {due}
[syllabus]
title = "Toys | and games"
instructor = "Grace Hopper"
first_day = 2027-10-04
no_lecture = [2027-10-13]
[syllabus.weights]
sets = 60
exam = 40
[syllabus.chapters]
tops = "Tops"
yoyos = "Yo-yos"
[syllabus.calendars.two]
rows = [["tops", "toy out"], ["yoyos", "toy due", "exam"]]
[syllabus.calendars.short]
unit = "half-day"
weights = {{}}
rows = [["tops"], ["yoyos"], ["a walk"]]
"""


@pytest.fixture
def course(tmp_path):
    made = make_toy_course(tmp_path / "tree" / "assignments")
    write(made, due="2027-10-19 23:59:00")
    return made


def write(course, replace=("", ""), due="2027-10-19 23:59:00"):
    text = SETTINGS.format(due=due)
    assert replace[0] in text
    (course.folder / "course.toml").write_text(text.replace(*replace))


def test_page_says_dates_weights_late_days_and_rules_and_skips_the_free_week(course):
    assert calendars(course) == ("two", "short")
    syllabus = read_syllabus(course, "two")
    assert syllabus.doubts == ()
    text = syllabus_markdown(syllabus)
    for said in (
        "# Toys | and games",
        "- **Instructor:** Grace Hopper",
        "| Week 1 | Mon 04 Oct 2027 | 1. [Tops](https://lm.example.edu/book/chapters/tops.html) "
        "| toy out (Tue 05 Oct 2027, 09:00) |",
        "| Week 2 | Mon 18 Oct 2027 | 2. [Yo-yos]",  # the 11th is in the week without a lecture
        "toy due (Tue 19 Oct 2027, 23:59); exam |",
        "| exam | 40 % |",
        "Late work loses 20 % of the set's points for each day that has begun, at most 60 %. "
        "Up to 5 minutes are not late.",
        "You have 3 late days for the whole course",
        "Ask, and write yourself.",
        "In toy: Anything goes.",
    ):
        assert said in text, said


def test_workshop_counts_half_days_and_has_neither_weights_nor_penalties(course):
    text = syllabus_markdown(read_syllabus(course, "short"))
    assert "| Day 1, afternoon | Mon 04 Oct 2027 |" in text
    assert "| Day 2, morning | Tue 05 Oct 2027 |  | a walk |" in text
    assert "What counts" not in text and "Late work" not in text


def test_due_date_in_another_week_or_in_no_row_is_named(course):
    write(course, due="2027-10-26 23:59:00")
    assert read_syllabus(course, "two").doubts == (
        "toy due is on 2027-10-26, and the calendar has it in the week of 2027-10-18",
    )
    assert read_syllabus(course, "short").doubts == (
        "toy has a due date, and no row of calendar short has it",
    )


def test_chapter_that_a_calendar_spells_otherwise_is_named(course):
    write(course, ('yoyos = "Yo-yos"', 'yo_yos = "Yo-yos"'))
    assert read_syllabus(course, "two").doubts == (
        "'yoyos': no chapter is called so; 'yo_yos' is one",
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("exam = 40", "exam = 50"), "syllabus.weights is 110.*sum to 100"),
        (('unit = "half-day"', 'unit = "month"'), "two|short.unit is 'month'; it must be one of"),
        (("title =", "tilte ="), "syllabus.tilte is .*known are"),
        (("2027-10-04", '"Monday"'), "first_day is 'Monday'; it must be a date"),
        (('[["tops"], ', '["tops", '), "rows is .*list of lists"),
    ],
)
def test_what_breaks_a_rule_is_named_with_the_rule(course, change, message):
    write(course, change)
    with pytest.raises(GraderError, match=message):
        read_syllabus(course, "short" if "month" in message or "rows" in message else "two")


def test_command_writes_each_calendar_and_a_pdf_where_a_browser_can_print(course, tmp_path):
    out = tmp_path / "handouts"
    pdf = "--pdf" if chromium() else "--no-pdf"
    command = [f"--course={course.folder}", "syllabus", "--calendar", "two", f"--out={out}"]
    done = CliRunner().invoke(cli.main, [*command, pdf, "--json"])
    assert done.exit_code == 0, done.output
    kinds = ("md", "html", "pdf") if chromium() else ("md", "html")
    paths = [out / f"syllabus-two.{kind}" for kind in kinds]
    assert json.loads(done.stdout) == [str(path) for path in paths]
    page = paths[1].read_text(encoding="utf-8")
    assert "<h1>Toys | and games</h1>" in page and "<td>Mon 18 Oct 2027</td>" in page
    assert not chromium() or paths[2].read_bytes().startswith(b"%PDF")


def test_unknown_calendar_is_refused_with_those_there_are(course):
    with pytest.raises(GraderError, match=r"calendars.nine is None; .*are: two, short"):
        read_syllabus(course, "nine")
