"""Files of times: a small CSV, and Moodle's grading worksheet as Moodle writes it."""

from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from autograder.authoring.notebooks import as_text
from autograder.authoring.release import ReleasedSet
from autograder.class_run.pipeline import grade_class
from autograder.class_run.result import Watcher
from autograder.class_run.settings import Settings
from autograder.intake.collection import Collected, Delivery
from autograder.intake.given_times import read_given_times
from autograder.intake.layouts import Layout, student_name
from autograder.records import GraderError

BERLIN = ZoneInfo("Europe/Berlin")
MOMENT = datetime(2026, 10, 12, 21, 58, tzinfo=UTC)  # 23:58 in Berlin
WORKSHEET = """\
Identifier,Full name,Email address,Status,Grade,Maximum grade,Grade can be changed,\
Last modified (submission),Last modified (grade),Feedback comments
Participant 123456,Ada Lovelace,ada@example.edu,"Submitted for grading",,100.00,Yes,\
"Monday, 12 October 2026, 11:58 PM",-,
Participant 123457,Alan Turing,alan@example.edu,"No submission",,100.00,Yes,-,-,
"""


def put(tmp_path, text, *students):
    path = tmp_path / "times.csv"
    path.write_text(text, encoding="utf-8")
    found = tuple(Collected(student, Path(student)) for student in students)
    given = read_given_times(path, BERLIN).put_into(Delivery(Layout.PLAIN, found))
    return {one.student: one.submitted_at for one in given}, given.remarks


def test_small_csv_gives_times_in_the_course_s_zone(tmp_path):
    text = "Student;Submitted\nada;2026-10-12T23:58\n Bo ;2026-10-12 21:58 UTC\ncy;\n"
    text += "zoe;2026-10-12 12:00\n"
    times, remarks = put(tmp_path, text, "ada", "bo", "cy", "dee")
    assert times == {"ada": MOMENT, "bo": MOMENT, "cy": None, "dee": None}
    assert remarks == ("times.csv gives times of 1 who are not here: zoe",)


def test_time_is_found_under_a_name_that_was_cleaned(tmp_path):
    text = "student,submitted\nAda & Bo,2026-10-12T23:58\n"
    cleaned = student_name("Ada & Bo")
    assert put(tmp_path, text, cleaned) == ({cleaned: MOMENT}, ())


def test_moodle_s_worksheet_gives_times_by_number_and_name(tmp_path):
    ada, alan, eve = "Ada Lovelace_123456", "Alan Turing_123457", "Eve_123456"
    times, remarks = put(tmp_path, WORKSHEET, ada, alan, eve)
    assert times == {ada: MOMENT, alan: None, eve: None}  # Eve only has the number
    assert remarks == ()


@pytest.mark.parametrize(
    "text",
    [
        "Monday, 12 October 2026, 11:58 PM",
        "Monday, 12 October 2026, 23:58",
        "12 October 2026, 11:58 pm",
        "Mon, 12 Oct 2026, 23:58:00",
        "Monday, October 12, 2026, 11:58 PM",
        "Monday, 12 October 2026, 11:58\u202fPM",
        "12 October 2026, 11:58 p.m.",
        "2026-10-12T23:58",
    ],
)
def test_time_in_words_is_read_as_moodle_writes_it(tmp_path, text):
    times, _ = put(tmp_path, f'student,submitted\nada,"{text}"\n', "ada")
    assert times == {"ada": MOMENT}


def test_september_has_a_short_form_of_its_own(tmp_path):
    times, _ = put(tmp_path, 'student,submitted\nada,"7 Sept 2026, 10:00"\n', "ada")
    assert times["ada"].month == 9


def test_noon_and_midnight_are_told_apart(tmp_path):
    text = 'student,submitted\nada,"12 October 2026, 12:05 AM"\nbo,"12 October 2026, 12:05 PM"\n'
    times, _ = put(tmp_path, text, "ada", "bo")
    assert [time.hour for time in times.values()] == [0, 12]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name,when\nada,now\n", r"has the columns name, when; it must have student and submitted"),
        ("ID,Vollständiger Name,Zuletzt geändert (Abgabe)\n", "set Moodle to English before you"),
        ("student,submitted\nada,soon\n", r"times\.csv, row 2: 'soon' is no time that can be told"),
        (
            "student,submitted\nada,2026-10-12 23:58 XYZ\n",
            r"row 2: '2026-10-12 23:58 XYZ' is of a zone that is not the course's, time_zone = '",
        ),
        ("student,submitted\nada,2026-10-12\n", "row 2: '2026-10-12' is no time"),
        ('student,submitted\nada,"Montag, 12. Marraskuu 2026, 23:58"\n', "set Moodle to English"),
        ('student,submitted\nada,"12 October 2026, 13:58 PM"\n', "row 2: .* is no time"),
        ("student,submitted\nada,2026-10-12 12:00\nADA,2026-10-12 13:00\n", "row 3: ADA stands"),
    ],
)
def test_file_that_cannot_be_understood_is_refused_with_its_row(tmp_path, text, message):
    with pytest.raises(GraderError, match=message):
        put(tmp_path, text, "ada")


@pytest.mark.usefixtures("without_sandbox")
def test_times_are_given_once_and_said_to_be_missing_before_anything_is_graded(
    toy_course, toys, hand_in, tmp_path
):
    (toy_course.folder / "course.toml").write_text(
        'time_zone = "Europe/Berlin"\n[sets.toy]\ndue = 2026-10-12 12:00:00\npenalty_percent = 10\n'
    )
    folder = hand_in("ada", double=toys.double)
    said: list[str] = []
    watcher = Watcher(
        warned=lambda lines: said.extend(lines), graded=lambda *grade: said.append("graded")
    )

    def grade(times=None):
        said.clear()
        settings = Settings(tmp_path / "out", times=times)
        found, *_ = grade_class(ReleasedSet(toy_course, "toy"), folder, settings, watcher).grades
        return found.timing

    assert grade().penalty == 0
    assert said[0].startswith(
        "toy is due 2026-10-12 12:00 UTC+0200, but it is not known when anybody here handed in, so "
        "no points are taken off"
    )
    assert said[1:] == ["graded"]
    times = tmp_path / "times.csv"
    times.write_text("student,submitted\nada,2026-10-12T23:58\n")
    timing = grade(times)
    assert (timing.penalty, timing.source, timing.note) == (10, "times.csv", "")
    assert said == ["graded"]
    assert grade() == timing  # kept with the grade
    hand_in("ada", as_text(toys.answer(toy_course, double=toys.square)).encode())
    assert grade().penalty == 0  # it was another file whose time was given
    times.write_text("student,submitted\nada,2026-10-12T11:58\n")
    assert (grade(times).penalty, grade().submitted) == (0, "2026-10-12T11:58:00+02:00")
    hand_in("bo", double=toys.double)
    grade()
    assert "it is not known when 1 of 2 here (bo) handed in, so no points" in said[0]
