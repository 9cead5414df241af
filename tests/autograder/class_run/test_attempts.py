"""Attempts before the due date: which counts, and what a student can read and when.

No test waits: due dates lie a year away, or long ago, and what is delayed is so for a day.
"""

import json
import random
import zipfile
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from click.testing import CliRunner

from autograder.authoring.late_policy import Policy
from autograder.authoring.notebooks import as_text
from autograder.authoring.release import ReleasedSet
from autograder.class_run import plan as plan_module
from autograder.class_run.pipeline import grade_class
from autograder.class_run.plan import plan
from autograder.class_run.settings import Settings
from autograder.cli.main import main
from autograder.grading import grader
from autograder.intake.repair import repair
from autograder.intake.watch import Patience, rounds
from autograder.lms.give_back import Feedback, pack
from autograder.records import (
    Attempts,
    CellResult,
    Difference,
    Grade,
    Misconception,
    PartVerdict,
    State,
    Timing,
    Verdict,
)
from autograder.reports.limited import ALL, Level, Shown, limited, next_moment, shown_now
from autograder.reports.student_feedback import student_page
from autograder.store.journal import Journal

NOW = datetime.now(UTC)
AHEAD, PAST = NOW + timedelta(365), NOW - timedelta(365)
HINT = "Twice a number is not its square."
WRONG = "def double(numbers):\n    return [3 * number for number in numbers]"


@pytest.fixture
def course(toy_course, toys, tmp_path, without_sandbox):
    """`hand_in` writes a student's notebook, `grade` grades the class by the given rules."""

    class Course:
        out, place = Settings(tmp_path / "out"), tmp_path / "submitted"

        def rules(self, due=AHEAD, **rules):
            lines = [f"{key} = {json.dumps(value)}" for key, value in rules.items()]
            dates = [f"due = {due.isoformat()}"] if due else []
            text = "\n".join(["[sets.toy]", *dates, *lines])
            (toy_course.folder / "course.toml").write_text(text)

        def hand_in(self, student="ada", name="toy.ipynb", data=None, time=None, **answers):
            folder = self.place / student / "toy"
            folder.mkdir(parents=True, exist_ok=True)
            data = data or as_text(toys.answer(toy_course, **answers)).encode()
            (folder / name).write_bytes(data)
            if time is not None:
                (folder / "timestamp.txt").write_text(time.isoformat())

        def released(self):
            return ReleasedSet(toy_course, "toy")

        def grade(self):
            return grade_class(self.released(), self.place, self.out)

        def recorded(self, student="ada"):
            return Journal(self.out.out, "toy").read(student).grade

        def page(self, student="ada"):
            return (self.out.out / f"feedback/{student}/toy/toy.html").read_text()

    return Course()


# ------------------------------------------------------------------ which one counts
def test_last_within_the_number_counts_and_later_ones_are_kept_and_said(course, toys):
    course.rules(attempts=2)
    course.hand_in(double=toys.square)
    assert course.grade().grades[0].points == 20
    course.hand_in(double=toys.double)
    assert course.grade().grades[0].points == 60
    course.hand_in(double=toys.double, mean=toys.mean)
    third = (course.place / "ada/toy/toy.ipynb").read_bytes()
    (planned,) = plan(course.released(), course.place, course.out)
    assert (planned.action, planned.reason) == (
        "take over",
        "what came later is not graded: all 2 attempts were used",
    )
    for _ in range(2):  # a second look at the same file makes it no further one
        result = course.grade()
        assert (result.grades[0].points, result.reused) == (60, 1)
        assert (result.grades[0].attempts.n, result.grades[0].attempts.n_later) == (2, 1)
    kept = Journal(course.out.out, "toy").submission("ada", course.recorded().attempts.later_sha256)
    assert kept.notebook == third
    assert "attempt 2 of 2" in course.page()
    assert "1 more file, which is kept and not graded (all 2 attempts were used)" in course.page()
    assert "1 later file is kept and not graded" in result.page.read_text()


def test_without_a_number_every_notebook_is_graded(course, toys):
    course.rules()
    for answers in ({"double": toys.square}, {"double": toys.double}, {"mean": toys.mean}):
        course.hand_in(**answers)
        course.grade()
    assert course.recorded().points == 30
    assert course.recorded().attempts == Attempts()


def test_number_is_evaded_by_no_name_time_output_or_copy(course, toys, monkeypatch):
    """Whoever wants a second answer from the hidden tests hands in what differs by nothing."""
    course.rules(attempts=1, feedback="properties")
    asked = []
    judge = grader.Grader.judge
    monkeypatch.setattr(grader.Grader, "judge", lambda self, *a: asked.append(1) or judge(self, *a))
    course.hand_in(double=toys.square, time=NOW - timedelta(1))
    course.grade()
    notebook = json.loads((course.place / "ada/toy/toy.ipynb").read_bytes())
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            cell["execution_count"] = 7
            cell["outputs"] = [{"output_type": "stream", "name": "stdout", "text": "hi"}]
    notebook["metadata"]["signature"] = "another"
    course.hand_in(data=json.dumps(notebook).encode())
    course.hand_in(name="toy (1).ipynb", double=toys.double)
    for moment in (PAST, AHEAD - timedelta(1), AHEAD + timedelta(99)):
        course.hand_in(name="toy-Copy1.ipynb", double=toys.square, time=moment)
        result = course.grade()
        noticed = "3 notebooks (toy (1).ipynb, toy-Copy1.ipynb, toy.ipynb); toy.ipynb was graded"
        assert noticed in course.page() and noticed in result.page.read_text()
    assert (len(asked), course.recorded().points, course.recorded().attempts.n) == (1, 20, 1)
    (course.place / "ada/toy/toy.ipynb").unlink()  # now it is a copy that is chosen
    course.grade()
    assert (len(asked), course.recorded().points, course.recorded().attempts.n_later) == (1, 20, 1)
    course.hand_in(data=b"")  # a damaged file does not begin the count anew
    (course.place / "ada/toy/toy (1).ipynb").unlink()
    (course.place / "ada/toy/toy-Copy1.ipynb").unlink()
    course.grade()
    course.hand_in(double=toys.double)
    course.grade()
    assert (len(asked), course.recorded().points, course.recorded().attempts.n) == (1, 20, 1)


def test_going_back_to_an_earlier_answer_is_another_attempt(course, toys):
    """Code that answers by chance would say more each time that it is graded again."""
    course.rules(attempts=3)
    for double in (toys.square, toys.double, toys.square, toys.double):
        course.hand_in(double=double)
        course.grade()
    assert (course.recorded().points, course.recorded().attempts.n) == (20, 3)


def test_file_that_cannot_be_read_uses_no_attempt_and_the_earlier_one_stands(course, toys):
    course.rules(attempts=2)
    course.hand_in(data=b"{")
    assert course.grade().grades[0].state is State.REFUSED
    course.hand_in(double=toys.square)
    course.grade()
    course.hand_in(data=b"{")
    assert course.grade().grades[0].state is State.GRADED
    assert "kept and not graded (the file" in course.page()
    course.hand_in(double=toys.double)
    course.grade()
    assert (course.recorded().points, course.recorded().attempts.n) == (60, 2)
    assert "not graded" not in course.page()


def test_written_answer_that_changes_is_an_attempt_and_is_kept(course, toys):
    course.rules(attempts=2)
    for essay in ("First.", "Second.", "Third."):
        course.hand_in(double=toys.double, essay=essay)
        course.grade()
    autograded = (course.out.out / "autograded/ada/toy/toy.ipynb").read_text()
    assert "Second." in autograded
    assert "Third." not in autograded


def test_time_of_the_one_that_counts_holds_and_follows_a_new_due_date(course, toys):
    rules = {"attempts": 1, "penalty_percent": 10}
    course.rules(NOW - timedelta(1), **rules)
    course.hand_in(double=toys.double, time=NOW - timedelta(2))
    course.grade()
    course.hand_in(double=toys.square, time=NOW)  # late, and not graded
    course.grade()
    timing = course.recorded().timing
    assert (timing.penalty, timing.source) == (
        0,
        "timestamp.txt, which the student's account can write",
    )
    course.rules(NOW - timedelta(2, 12 * 3600), **rules)
    course.grade()
    assert course.recorded().timing.penalty == 10
    assert course.recorded().timing.submitted == (NOW - timedelta(2)).isoformat()


def test_time_given_for_a_later_file_is_not_that_of_the_one_that_counts(course, toys, tmp_path):
    course.rules(NOW - timedelta(1), attempts=1, penalty_percent=10)
    times = tmp_path / "times.csv"
    given = replace(course.out, times=times)
    for double, days in ((toys.double, 2), (toys.square, 0.5)):
        course.hand_in(double=double)
        times.write_text(f"student,submitted\nada,{(NOW - timedelta(days)).isoformat()}\n")
        grade_class(course.released(), course.place, given)
    for _ in range(2):
        assert (course.recorded().points, course.recorded().timing.penalty) == (60, 0)
        course.hand_in(double=toys.double)
        course.grade()


def test_new_checks_are_asked_of_the_one_that_counts(course, toys, toy_course):
    course.rules(attempts=1)
    course.hand_in(double=toys.double)
    course.grade()
    course.hand_in(double=toys.square)
    path = toy_course.folder / "toy/problem_set.py"
    path.write_text(path.read_text().replace("for size in (1, 3, 7)", "for size in (1, 3, 8)"))
    result = course.grade()
    assert (result.reused, result.grades[0].points, result.grades[0].attempts.n) == (0, 60, 1)


def test_attempt_is_counted_from_what_was_graded_before_the_rule(course, toys):
    course.rules()
    course.hand_in(double=toys.square)
    course.grade()
    course.rules(attempts=1)
    course.hand_in(double=toys.double)
    course.grade()
    assert (course.recorded().points, course.recorded().attempts.n_later) == (20, 1)


def test_what_breaks_while_attempts_are_counted_breaks_for_one_student(course, toys, monkeypatch):
    course.rules(attempts=1)
    for student in ("ada", "bo"):
        course.hand_in(student, double=toys.double)
    course.grade()
    counted = plan_module.attempt

    def breaks(data, refusal, earlier, *rest):
        if earlier.grade.student == "ada":
            raise OverflowError("date value out of range")
        return counted(data, refusal, earlier, *rest)

    monkeypatch.setattr(plan_module, "attempt", breaks)
    ada, bo = course.grade().grades
    assert (ada.state, ada.attempts.n) == (State.REFUSED, 1)  # nor does it begin anew
    assert "attempts could not be counted: OverflowError" in ada.reasons[-1]
    assert bo.points == 60


# ------------------------------------------------------------------ what is read, and when
def _secret_grade():
    """A grade every field of which bears a mark that says how hidden it is."""
    parts = (
        PartVerdict("values", False, 2, "FULL-message", "STAFF-note"),
        PartVerdict("empty", True, 1, "", "STAFF-more"),
    )
    about, other = Misconception("FULL-name", "FULL-hint"), Misconception("FULL-2", "FULL-too")
    return Grade(
        "ada",
        "toy",
        State.GRADED_WITH_PROBLEMS,
        "0" * 64,
        987654321,
        (Verdict("toy_double", 20.25, 60, parts, about, "STAFF-fault", other),),
        ("PROPERTIES-remark",),
        "STAFF-isolation",
        cells=(CellResult(0, "STAFF-output", "VISIBLE-error"),),
        differences=(Difference("toy_double", "VISIBLE-asked", "VISIBLE-found", "VISIBLE-right"),),
        visible={"toy_double": False},
        attempts=Attempts(1, "content", NOW.isoformat()),
        timing=Timing(penalty=1.5),
    )


def test_each_level_holds_what_it_says_and_nothing_of_the_next():
    grade = _secret_grade()
    texts = {level: repr(limited(grade, Shown(level), None)) for level in Level}
    marks = {
        Level.NOTHING: ("VISIBLE", "PROPERTIES-", "FULL-", "STAFF", "20.25", "987654321"),
        Level.VISIBLE: ("PROPERTIES-", "FULL-", "STAFF-note", "20.25", "987654321", "problems"),
        Level.PROPERTIES: ("FULL-", "STAFF-note", "STAFF-more", "STAFF-fault"),
    }
    for level, hidden in marks.items():
        assert not [mark for mark in hidden if mark in texts[level]], level
    assert "VISIBLE-asked" in texts[Level.VISIBLE]
    assert "20.25" in texts[Level.PROPERTIES]
    assert limited(grade, ALL, None) == grade


_ANSWER = "def double(numbers):\n    return [0] if numbers == [1, 2] else [2 * x for x in numbers]"


def test_page_is_the_same_whatever_hidden_tests_found(course, toys):
    """Not a byte of a page may depend on a verdict: those that differ by it alone are equal."""
    course.rules(feedback="visible")
    course.hand_in(double=_ANSWER, mean=toys.mean)
    released = course.released()
    repaired = repair((course.place / "ada/toy/toy.ipynb").read_bytes(), released)
    grade = replace(_secret_grade(), sha256="1" * 64)
    pages = {Level.VISIBLE: set(), Level.NOTHING: set()}
    for seed in range(16):
        rng = random.Random(seed)
        verdicts = tuple(
            Verdict(
                item,
                rng.choice((0.0, 30.0)),
                30.0,
                tuple(
                    PartVerdict(part, rng.random() < 0.5, 1.0, rng.choice(("", "a", "b")))
                    for part in ("values", "empty")
                ),
                rng.choice((None, Misconception("m", HINT))),
                rng.choice(("", "fault")),
            )
            for item in ("toy_double", "toy_mean")
        )
        state = rng.choice((State.GRADED, State.TAMPERED, State.GRADER_FAULT))
        reasons = rng.choice(((), ("it took too long",)))
        one = replace(grade, verdicts=verdicts, state=state, reasons=reasons)
        for level, found in pages.items():
            found.add(student_page(released.outline, one, repaired, {}, shown=Shown(level)))
    assert {level: len(found) for level, found in pages.items()} == {
        Level.VISIBLE: 1,
        Level.NOTHING: 1,
    }
    assert "visible test does not pass" in pages[Level.VISIBLE].pop()
    assert "visible test" not in pages[Level.NOTHING].pop()


def test_visible_level_says_whether_each_visible_test_passes_and_shows_no_points(course, toys):
    course.rules(feedback="visible")
    course.hand_in(double=WRONG, mean="def mean(numbers):\n    return 2 if numbers else 0")
    result = course.grade()
    page = course.page()
    assert page.count("The visible test passes.") == page.count("does not pass.") == 1
    assert "double([1, 2])" in page  # its first difference
    for hidden in ("Every number is doubled", "average is right", "of 90 points", HINT, "Together"):
        assert hidden not in page
    assert any("only whether the tests pass that stand" in one for one in result.notices)


def test_properties_level_names_what_holds_without_messages_and_hints(course, toys):
    course.rules(feedback="properties")
    course.hand_in(double=toys.square)
    course.grade()
    limited_page = course.page()
    assert "Every number is doubled." in limited_page
    course.rules(PAST, feedback="properties")
    course.grade()
    assert HINT in course.page()
    assert HINT not in limited_page
    messages = [part.message for v in course.recorded().verdicts for part in v.parts]
    assert any(messages)
    assert not [one for one in messages if one and one in limited_page]


def test_no_file_that_may_be_published_holds_more_than_the_page(course, toys):
    """Feedback's folder, packed feedback and exports are searched, in archives too."""
    course.rules(feedback="visible")
    course.hand_in(double=toys.square)
    course.grade()
    course.hand_in("bo", double=toys.double, mean=toys.mean)
    result = course.grade()
    hidden = [HINT, "Every number is doubled", "An empty list stays empty", "90 of 90", "squares"]
    hidden += [p.message for g in result.grades for v in g.verdicts for p in v.parts if p.message]
    out = ["--out", str(course.out.out)]
    runner, roster = CliRunner(), course.out.out / "roster.csv"
    roster.write_text("Email address,Toy set\nada,\nbo,\n")
    where = ["--course", str(course.released().course.folder)]
    runs = [
        runner.invoke(main, [*where, *command, *out])
        for command in (
            ["export", "toy"],
            ["export", "toy", "--json"],
            ["export", "toy", "--format", "moodle", "--roster", str(roster), "--comments"],
            ["feedback", "toy", "--to", "mail"],
        )
    ]
    texts = [path.read_text() for path in (course.out.out / "feedback").rglob("*.html")]
    packed = list((course.out.out / "given_back").rglob("*.*"))
    assert {path.name for path in packed} >= {"mail.csv", "ada.html"}
    texts += [path.read_text() for path in packed]
    for run in runs[:3]:
        assert run.exit_code == 4, run.output
        texts.append(run.output)
    assert "course.toml shows no points to students before" in runs[0].stderr
    assert not [(mark, text) for mark in hidden for text in texts if mark in text]
    mail = (course.out.out / "given_back/toy-mail/mail.csv").read_text().splitlines()
    assert mail[2].split(",")[3] == ""  # Bo's points


def test_notebook_of_feedback_for_canvas_holds_no_more(course, toys, tmp_path):
    course.rules(feedback="visible")
    course.hand_in(double=toys.square)
    course.grade()
    grade, released = course.recorded(), course.released()
    shown = shown_now(released.policy, grade, NOW)
    origin = replace(Journal(course.out.out, "toy").read("ada").origin, layout="canvas")
    origin = replace(origin, parts=("ada_1_2_toy.ipynb",))
    one = Feedback(grade, origin, b"", lambda: None, {}, None, shown)
    packed = pack("canvas", released.outline, [one], tmp_path)
    text = zipfile.ZipFile(packed.path).read("ada_1_2_toy.ipynb").decode()
    assert "The visible test does not pass." in text
    assert not [mark for mark in (HINT, "Every number", "**0**") if mark in text]


# ------------------------------------------------------------------ when
@pytest.mark.parametrize(
    ("rules", "hours", "level", "until"),
    [
        ({}, -99, Level.FULL, None),
        ({"feedback": "visible"}, -1, Level.VISIBLE, 0.5),
        ({"feedback": "visible"}, 0.4, Level.VISIBLE, 0.5),  # within the grace
        ({"feedback": "visible"}, 0.5, Level.FULL, None),
        ({"feedback": "properties", "full": 5}, 5.4, Level.PROPERTIES, 5.5),
        ({"feedback": "properties", "full": 5}, 5.5, Level.FULL, None),
        ({"delay": 2}, -9, Level.NOTHING, -8.0),  # it was seen ten hours before
        ({"delay": 2}, -8, Level.FULL, None),
        ({"delay": 2, "feedback": "visible"}, -8, Level.VISIBLE, 0.5),
        ({"delay": 99, "feedback": "visible"}, -8, Level.NOTHING, 0.5),
        ({"delay": 99}, 1, Level.FULL, None),
    ],
)
def test_what_is_read_follows_from_the_due_date_and_the_graders_clock(rules, hours, level, until):
    hour = timedelta(hours=1)
    policy = Policy(
        NOW,
        grace=hour / 2,
        feedback=rules.get("feedback", "full"),
        feedback_delay=rules.get("delay", 0) * hour,
        full_feedback_delay=rules.get("full", 0) * hour,
    )
    # What the student's account says of the time plays no part.
    timing = Timing(submitted=(NOW - 999 * hour).isoformat(), due=(NOW - 99 * hour).isoformat())
    seen = (NOW - 10 * hour).isoformat()
    grade = replace(_secret_grade(), attempts=Attempts(1, "c", seen), timing=timing)
    shown = shown_now(policy, grade, NOW + hours * hour)
    moment = None if until is None else NOW + until * hour
    assert (shown.level, shown.until) == (level, moment)
    assert next_moment(policy, [grade], NOW + hours * hour) == moment
    damaged = replace(grade, attempts=Attempts(1, "c", "not a time"))
    assert shown_now(policy, damaged, NOW + hours * hour).level in (level, Level.NOTHING)
    theirs = replace(policy, extensions={"ada": NOW + 99 * hour})
    is_limited = shown_now(theirs, grade, NOW + 98 * hour).level is not Level.FULL
    assert is_limited == ("feedback" in rules)


def test_without_a_due_date_a_limit_holds_and_is_said(course, toys):
    course.rules(None, feedback="visible")
    course.hand_in(double=toys.square)
    result = course.grade()
    assert HINT not in course.page()
    assert any("toy has no due date: until it has one" in one for one in result.notices)


def test_forged_time_shows_nothing_earlier(course, toys):
    course.rules(feedback="visible", feedback_delay_hours=24)
    course.hand_in(double=toys.square, time=AHEAD + timedelta(9))
    course.grade()
    for moment in (PAST, NOW - timedelta(30)):
        course.hand_in(double=toys.square, time=moment)
        course.grade()
        assert "only that it was received, and what is blank" in course.page()


def test_same_notebook_again_is_no_longer_delayed_and_another_one_is(course, toys):
    course.rules(feedback_delay_hours=24)
    course.hand_in(double=toys.square)
    course.grade()
    journal = Journal(course.out.out, "toy")
    record = journal.read("ada")
    yesterday = (NOW - timedelta(2)).isoformat()
    seen = replace(record.grade.attempts, seen=yesterday)
    journal.write(replace(record, grade=replace(record.grade, attempts=seen)))
    course.grade()
    assert HINT in course.page()
    course.hand_in(double=WRONG)
    course.grade()
    assert "only that it was received, and what is blank" in course.page()


def test_watch_writes_pages_again_when_more_may_be_read(tmp_path):
    times = iter(range(10))
    due = iter([False, True, False])
    found = rounds(list, Patience(), lambda: next(times), lambda s: None, lambda: next(due))
    next(found)
    with pytest.raises(StopIteration):
        next(due), next(due)


# ------------------------------------------------------------------ course.toml
@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("attempts = -1", "sets.toy.attempts is -1; it must be a whole number of at least 0"),
        ("attempts = 1.5", "it must be a whole number"),
        ('feedback = "some"', "it must be one of 'visible', 'properties', 'full'"),
        ("feedback_delay_hours = -1", "it must be a number of at least 0"),
        ("full_feedback_delay_hours = true", "it must be a number of at least 0"),
    ],
)
def test_rule_that_is_none_is_refused_by_name(toy_course, line, said):
    (toy_course.folder / "course.toml").write_text(f"[sets.toy]\n{line}\n")
    with pytest.raises(Exception, match=said.replace(".", r"\.")):
        _ = ReleasedSet(toy_course, "toy").policy


def test_rules_of_the_course_hold_unless_a_set_says_otherwise(toy_course):
    text = '[defaults]\nattempts = 3\nfeedback = "visible"\n[sets.toy]\nattempts = 5\n'
    (toy_course.folder / "course.toml").write_text(text)
    policy = ReleasedSet(toy_course, "toy").policy
    assert (policy.attempts, policy.feedback) == (5, "visible")
