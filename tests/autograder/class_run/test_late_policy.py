"""Due dates and penalties; expected points are worked out by hand beside each case."""

import os
import sqlite3
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest
from nbgrader import api

from autograder.authoring.late_policy import Policy, read_policy
from autograder.authoring.release import ReleasedSet
from autograder.class_run import plan as planning
from autograder.class_run.lateness import timing_of
from autograder.class_run.pipeline import grade_class
from autograder.class_run.plan import plan
from autograder.class_run.settings import Settings
from autograder.grading import grader
from autograder.grading.grader import Confinement, Grader
from autograder.intake.collection import Collected, collect
from autograder.records import GraderError
from autograder.store.gradebook import Gradebook

DUE = datetime(2026, 3, 2, 12, tzinfo=UTC)
NOW = datetime(2026, 5, 1, tzinfo=UTC)
TEN_A_DAY = Policy(due=DUE, grace=timedelta(minutes=15), percent=10, cap_percent=50)


def _found(tmp_path, after=timedelta(0), student="ada", **changes):
    there = {"submitted_at": DUE + after, "time_source": "a list"} | changes
    return Collected(student, tmp_path / "ada.ipynb", **there)


@pytest.mark.parametrize(
    ("after", "penalty"),
    [
        (timedelta(days=-3), 0),
        (timedelta(0), 0),
        (timedelta(minutes=15), 0),  # the last moment of grace
        (timedelta(minutes=16), 8),  # 10 % of 80 points for the first day begun
        (timedelta(days=1), 8),
        (timedelta(days=1, seconds=1), 16),
        (timedelta(days=4, hours=23), 40),  # the fifth day: 50 %
        (timedelta(days=30), 40),  # the cap
    ],
)
def test_penalty_counts_each_day_that_has_begun(tmp_path, after, penalty):
    timing = timing_of(_found(tmp_path, after), TEN_A_DAY, 80.0, NOW)
    assert timing.penalty == penalty
    assert timing.seconds_late == (after.total_seconds() if penalty else 0)
    assert timing.note == ""


def test_penalty_may_be_counted_by_the_hour(tmp_path):
    policy = Policy(due=DUE, percent=2, unit=timedelta(hours=1))
    found = _found(tmp_path, timedelta(hours=2, minutes=1))
    assert timing_of(found, policy, 50.0, NOW).penalty == 3  # 3 hours begun, 2 % of 50 each


def test_extension_moves_the_due_date_of_one_student(tmp_path):
    policy = Policy(due=DUE, percent=10, extensions={"ada": DUE + timedelta(days=7)})
    late = timedelta(days=8)
    ada = timing_of(_found(tmp_path, late), policy, 100.0, NOW)
    bo = timing_of(_found(tmp_path, late, "bo"), policy, 100.0, NOW)
    assert (ada.penalty, ada.extended, bo.penalty, bo.extended) == (10, True, 80, False)


def test_lateness_is_real_time_when_clocks_are_put_forward(tmp_path, toy_course):
    # In Rome 2026-03-29 has no hour from 2 to 3, so 01:59 to 03:59 is one hour, not two.
    (toy_course.folder / "course.toml").write_text(
        'time_zone = "Europe/Rome"\n[sets.toy]\ndue = 2026-03-29 01:59:00\n'
        'penalty_percent = 10\npenalty_per = "hour"\n'
    )
    policy = read_policy(toy_course, "toy")
    submitted = policy.due.replace(hour=3)
    found = _found(tmp_path, submitted_at=submitted)
    timing = timing_of(found, policy, 100.0, NOW)
    assert (timing.seconds_late, timing.penalty) == (3600, 10)


def test_name_of_the_course_s_zone_costs_nobody_a_point(toy_course, hand_in, tmp_path):
    """`2026-10-12 23:58:00 CEST`, due at 23:59 in Berlin, as nbgrader writes it."""
    (toy_course.folder / "course.toml").write_text(
        'time_zone = "Europe/Berlin"\n[sets.toy]\ndue = 2026-10-12 23:59:00\npenalty_percent = 10\n'
    )
    times = {"ada": "2026-10-12 23:58:00 CEST", "bo": "2026-10-13T00:58", "eve": "1-1-1 +0001"}
    for student, text in times.items():
        place = tmp_path / "submitted" / student / "toy"
        place.mkdir(parents=True)
        (place / "toy.ipynb").write_text("{")
        (place / "timestamp.txt").write_text(text)
    released, out = ReleasedSet(toy_course, "toy"), Settings(tmp_path / "out")
    planned = {one.student: one.timing for one in plan(released, tmp_path / "submitted", out)}
    assert {student: timing.penalty for student, timing in planned.items()} == {
        "ada": 0,
        "bo": 10,
        "eve": 0,
    }
    assert (planned["ada"].note, planned["ada"].submitted) == ("", "2026-10-12T23:58:00+02:00")
    assert "timestamp.txt says '1-1-1 +0001'" in planned["eve"].note


def test_zone_of_nbgrader_s_exchange_is_read_from_the_course_s_settings(toy_course):
    (toy_course.folder / "course.toml").write_text('time_zone = "Europe/Berlin"')
    config = toy_course.folder / "nbgrader_config.py"
    for text, zones in (
        ("c = get_config()\nc.Exchange.timezone = 'America/Chicago'", ["America/Chicago"]),
        ("c = get_config()\nc.Exchange.root = 'exchange'", []),
        ("c = get_config()\nc.Exchange.timezone = 'Nowhere'", []),
    ):
        config.write_text(text)
        os.utime(config, ns=(0, len(text)))  # it is run again where its time has changed
        assert [*map(str, read_policy(toy_course, "toy").zones)] == [*zones, "Europe/Berlin"]


def test_zones_of_the_two_times_may_differ(tmp_path):
    tokyo = timezone(timedelta(hours=9))
    found = _found(tmp_path, submitted_at=datetime(2026, 3, 2, 20, 59, tzinfo=tokyo))
    assert timing_of(found, TEN_A_DAY, 100.0, NOW).penalty == 0  # 11:59 in Greenwich


def test_without_a_due_date_nothing_is_late(tmp_path):
    timing = timing_of(_found(tmp_path, timedelta(days=99)), Policy(percent=10), 100.0, NOW)
    assert (timing.due, timing.seconds_late, timing.penalty) == ("", 0, 0)
    assert timing.submitted.startswith("2026-06-09") or timing.note  # a time after `now`


def test_unknown_time_takes_nothing_and_says_so(tmp_path):
    found = _found(tmp_path, submitted_at=None, time_source="")
    timing = timing_of(found, TEN_A_DAY, 100.0, NOW)
    assert (timing.penalty, timing.mark, timing.is_late) == (0, "", False)
    assert "nobody knows when it was handed in; no points were taken" in timing.note


@pytest.mark.parametrize(
    ("marked", "mark", "penalty", "unit"),
    [
        (True, "late", 10, timedelta(days=1)),  # the first day has begun, that much is sure
        (True, "late", 10, timedelta(hours=1)),
        (False, "on time", 0, timedelta(days=1)),
    ],
)
def test_mark_of_the_platform_counts_where_it_gives_no_time(tmp_path, marked, mark, penalty, unit):
    found = _found(tmp_path, submitted_at=None, time_source="", marked_late=marked)
    policy = replace(TEN_A_DAY, unit=unit)
    timing = timing_of(found, policy, 100.0, NOW)
    assert (timing.mark, timing.penalty, timing.seconds_late) == (mark, penalty, 0)
    assert (timing.note, timing.source) == ("", "the platform's own mark")
    # A time says more than a mark, and the platform knows of no extension that stands here.
    timed = timing_of(_found(tmp_path, marked_late=marked), policy, 100.0, NOW)
    assert (timed.mark, timed.penalty, timed.marked_late) == ("", 0, marked)
    extended = replace(policy, extensions={"ada": DUE + timedelta(days=7)})
    timing = timing_of(found, extended, 100.0, NOW)
    assert (timing.mark, timing.penalty) == ("", 0)
    assert "no points were taken" in timing.note


@pytest.mark.parametrize(
    ("claimed", "why"),
    [
        (NOW + timedelta(days=1), "which is in the future"),
        (DUE - timedelta(days=300), "before the set was released"),
    ],
)
def test_time_that_cannot_be_true_counts_as_unknown(tmp_path, claimed, why):
    policy = Policy(due=DUE, released=DUE - timedelta(days=14), percent=10)
    found = _found(tmp_path, submitted_at=claimed, time_source="timestamp.txt")
    timing = timing_of(found, policy, 100.0, NOW)
    assert (timing.submitted, timing.penalty) == ("", 0)
    assert why in timing.note
    assert "timestamp.txt" in timing.note and "no points were taken" in timing.note


def test_clock_that_is_a_little_fast_is_believed(tmp_path):
    found = _found(tmp_path, submitted_at=DUE + timedelta(minutes=4))
    timing = timing_of(found, TEN_A_DAY, 80.0, DUE)
    assert (timing.submitted, timing.note) == (found.submitted_at.isoformat(), "")


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("Canvas", "Canvas"),
        ("timestamp.txt", "timestamp.txt, which the student's account can write"),
        ("nbgrader's exchange", "nbgrader's exchange, which the student's account can write"),
    ],
)
def test_source_that_a_student_can_write_says_so(tmp_path, source, shown):
    assert timing_of(_found(tmp_path, time_source=source), TEN_A_DAY, 100.0, NOW).source == shown


@pytest.mark.parametrize("claimed", [DUE - timedelta(days=1), NOW + timedelta(days=1)])
def test_arrival_in_the_exchange_counts_where_a_name_claims_another_time(tmp_path, claimed):
    arrived = DUE + timedelta(days=1, hours=1)
    there = {"submitted_at": claimed, "time_source": "nbgrader's exchange", "arrived_at": arrived}
    timing = timing_of(_found(tmp_path, **there), TEN_A_DAY, 80.0, NOW)
    assert (timing.submitted, timing.penalty) == (arrived.isoformat(), 16)
    assert timing.source == "the exchange's file system"
    assert f"it claims to be from {claimed.isoformat()}" in timing.note


def test_claim_that_the_file_system_bears_out_is_shown_as_a_claim(tmp_path):
    there = {"time_source": "nbgrader's exchange", "arrived_at": DUE + timedelta(seconds=9)}
    timing = timing_of(_found(tmp_path, **there), TEN_A_DAY, 80.0, NOW)
    assert (timing.submitted, timing.penalty, timing.note) == (DUE.isoformat(), 0, "")
    assert timing.source == "nbgrader's exchange, which the student's account can write"


# ------------------------------------------------------------------ the course's file
def test_course_without_a_file_has_no_due_dates(toy_course):
    assert read_policy(toy_course, "toy") == Policy()


def test_file_says_what_holds_for_a_set(toy_course):
    (toy_course.folder / "course.toml").write_text(
        """
        time_zone = "America/New_York"
        [defaults]
        grace_minutes = 30
        penalty_percent = 5
        [sets.toy]
        released = 2026-03-01 09:00:00
        due = 2026-03-05 23:00:00
        penalty_percent = 20
        cap_percent = 60.5
        extensions = { ada = 2026-03-08T12:00:00Z }
        """
    )
    policy = read_policy(toy_course, "toy")
    assert policy.due.astimezone(UTC) == datetime(2026, 3, 6, 4, tzinfo=UTC)
    assert policy.extensions["ada"] == datetime(2026, 3, 8, 12, tzinfo=UTC)
    assert (policy.grace, policy.percent, policy.cap_percent) == (timedelta(minutes=30), 20, 60.5)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("", 60),
        ("[defaults]\nseconds = 90", 90),
        ("[defaults]\nseconds=90\n[sets.toy]\nseconds=7", 7),
    ],
)
def test_time_of_a_submission_is_one_number_of_the_course(
    toy_course, without_sandbox, monkeypatch, text, seconds
):
    (toy_course.folder / "course.toml").write_text(text)
    given, init = [], grader.Sandbox.__init__
    monkeypatch.setattr(
        grader.Sandbox, "__init__", lambda *args, **named: given.append(named) or init(*args)
    )
    with Grader(ReleasedSet(toy_course, "toy"), Confinement()):
        assert given[0]["limits"].submission_seconds == seconds


def test_submissions_are_graded_again_when_their_time_has_changed(
    toy_course, toys, hand_in, without_sandbox, tmp_path
):
    folder, out = hand_in("ada", double=toys.double), Settings(tmp_path / "out")
    grade_class(ReleasedSet(toy_course, "toy"), folder, out)
    for text, reused in (("", 1), ("[defaults]\nseconds = 90", 0), ("[defaults]\nseconds = 90", 1)):
        (toy_course.folder / "course.toml").write_text(text)
        assert grade_class(ReleasedSet(toy_course, "toy"), folder, out).reused == reused


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[defaults]\nseconds = 0", r"defaults\.seconds is 0\.0; it must be at least 1"),
        ("[sets.toy]\nseconds = 4000", r"sets\.toy\.seconds is 4000; .* at most 3600"),
        ("sets = 3", r"course\.toml: sets is 3; it must be a table"),
        (
            "[set.toy]",
            r"set is \{'toy': \{\}\}; "
            "known here: assistants, book, defaults, edition, late_days, leaderboard, package, "
            "sets, syllabus, time_zone",
        ),
        ("late_days = -1", "late_days is -1; it must be a whole number of at least 0"),
        ("late_days = 1.5", "late_days is 1.5; it must be a whole number"),
        ("late_days = true", "late_days is True; it must be a whole number"),
        ("[leaderboard]\nset = []", r"leaderboard\.set is \[\]; known here: names, sets"),
        ("[sets.ps9]", r"sets\.ps9 is \{\}; known here: toy"),
        ('time_zone = "Rome"', "time_zone is 'Rome'; it must be a place"),
        ("[sets.toy]\ndue = 2026-03-05", r"sets\.toy\.due is .*2026, 3, 5.*a day and a time"),
        ("[sets.toy]\ndue = 0001-01-01 00:00:00+14:00", r"toy\.due is .* from 1 to 9999, too"),
        ("[sets.toy]\ndue = 'soon'", r"sets\.toy\.due is 'soon'"),
        ("[sets.toy]\ndew = 1", r"sets\.toy\.dew is 1; known here: attempts, cap_percent, due"),
        ("[defaults]\ndue = 2026-03-05 23:00:00", "defaults.due is"),
        ("[defaults]\ngrace_minutes = -5", r"defaults\.grace_minutes is -5; .* at least 0"),
        ("[defaults]\npenalty_percent = 101", "penalty_percent is 101; .* at most 100"),
        ("[defaults]\npenalty_percent = true", "penalty_percent is True; it must be a number"),
        ("[defaults]\ncap_percent = nan", "cap_percent is nan; it must be a number"),
        ('[defaults]\npenalty_per = "week"', "penalty_per is 'week'; it must be \"day\" or"),
        (
            "[sets.toy.extensions]\nada = 2026-03-05 23:00:00",
            r"sets\.toy\.extensions is \['ada'\]; there must be a due date to extend",
        ),
        (
            "[sets.toy]\nreleased = 2026-03-05 23:00:00\ndue = 2026-03-05 22:00:00",
            r"sets\.toy\.due is '2026-03-05T22:00:00\+00:00'; it must be after the release",
        ),
        ("a = ", r"course\.toml cannot be read: Invalid value"),
    ],
)
def test_read_policy_rejects_what_breaks_a_rule(toy_course, text, message):
    (toy_course.folder / "course.toml").write_text(text)
    with pytest.raises(GraderError, match=message):
        read_policy(toy_course, "toy")


# ------------------------------------------------------------------ in a class
@pytest.fixture
def late_class(toys, toy_course, hand_in, tmp_path, monkeypatch, without_sandbox):
    """Ada on time, Bo two days late, Cy five days late with a week's extension."""
    came = {"ada": timedelta(0), "bo": timedelta(days=2), "cy": timedelta(days=5)}
    for student in came:
        folder = hand_in(student, double=toys.double, mean=toys.mean)

    def with_times(*args):
        delivery = collect(*args)
        timed = tuple(
            replace(f, submitted_at=DUE + came[f.student], time_source="a list") for f in delivery
        )
        return replace(delivery, submissions=timed)

    monkeypatch.setattr(planning, "collect", with_times)
    file = toy_course.folder / "course.toml"

    def grade(text):
        file.write_text(text)
        return grade_class(ReleasedSet(toy_course, "toy"), folder, Settings(tmp_path / "out"))

    return grade


POLICY = """
[sets.toy]
due = 2026-03-02 12:00:00
penalty_percent = 10
extensions = { cy = 2026-03-09 12:00:00, zoe = 2026-03-09 12:00:00 }
"""


def test_class_gets_raw_points_penalty_and_final_points(late_class):
    result = late_class(POLICY)
    found = {g.student: (g.points, g.timing.penalty, g.final_points) for g in result.grades}
    assert found == {"ada": (90, 0, 90), "bo": (90, 20, 70), "cy": (90, 0, 90)}
    assert result.notices == (
        "an extension names 'zoe', but nobody of that name has handed in toy",
    )


@pytest.mark.usefixtures("without_sandbox")
def test_unknown_times_are_said_once_for_the_class(toy_course, hand_in, tmp_path):
    hand_in("ada", b"{")
    folder = hand_in("bo", b"{")
    (toy_course.folder / "course.toml").write_text(POLICY.replace("extensions", "# extensions"))
    result = grade_class(ReleasedSet(toy_course, "toy"), folder, Settings(tmp_path / "out"))
    assert result.notices == (
        "toy has a due date, but nobody knows when 2 of 2 were handed in, so no points were taken "
        "off: ada, bo",
    )


def test_changed_policy_changes_points_without_running_anything(late_class, monkeypatch):
    late_class("")

    def never(*args):
        raise AssertionError("student code has no need to run")

    monkeypatch.setattr("autograder.class_run.workers.Grader", never)
    result = late_class(POLICY)
    assert result.reused == 3
    (change,) = result.changes
    assert (change.student, change.before, change.after) == ("bo", 90, 70)
    assert change.causes == (
        "the late penalty is 20 instead of 0 points",
        "the due date is 2026-03-02T12:00:00+00:00 instead of none",
    )
    (back,) = late_class("").changes
    assert (back.student, back.after) == ("bo", 90)
    harder = late_class(POLICY.replace("= 10", "= 30")).changes[0]
    assert harder.after == 30
    softer = late_class(POLICY.replace("= 10", "= 5")).changes[0]
    assert "the rule for late submissions changed" in softer.causes


def test_gradebook_formgrader_and_export_agree_on_the_penalty(late_class, tmp_path):
    late_class(POLICY)
    url = f"sqlite:///{tmp_path / 'out' / 'gradebook.db'}"
    with api.Gradebook(url) as theirs:
        bo, cy = (theirs.find_submission("toy", student) for student in ("bo", "cy"))
        assert bo.late_submission_penalty == 20
        assert bo.total_seconds_late == 2 * 86400  # nbgrader's own subtraction of its own columns
        assert cy.total_seconds_late == 0
        assert cy.extension == timedelta(days=7)
    with Gradebook(url) as book:
        scores = {score.student: score for score in book.final_scores("toy")}
    assert (scores["bo"].raw_points, scores["bo"].penalty, scores["bo"].points) == (90, 20, 70)
    late_class(POLICY.replace("= 10", "= 0"))
    database = sqlite3.connect(tmp_path / "out" / "gradebook.db")
    assert {
        row[0] for row in database.execute("select late_submission_penalty from submitted_notebook")
    } == {0}


def test_penalty_is_shown_to_the_student_and_the_instructor(late_class, tmp_path):
    page = late_class(POLICY).page.read_text()
    feedback = (tmp_path / "out" / "feedback" / "bo" / "toy" / "toy.html").read_text()
    for shown in (page, feedback):
        assert "2 days late" in shown
        assert "20" in shown and "a list" in shown
    assert "70" in feedback
    assert "extension" in (tmp_path / "out" / "feedback" / "cy" / "toy" / "toy.html").read_text()
