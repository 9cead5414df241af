"""Late days of a course with two sets; who loses what is worked out by hand in each test."""

import itertools
import math
import shutil
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from autograder.authoring.late_policy import Policy
from autograder.authoring.notebooks import as_text
from autograder.authoring.release import ReleasedSet
from autograder.class_run import outputs, pipeline
from autograder.class_run.late_days import LateDays, spend
from autograder.class_run.lateness import timing_of
from autograder.class_run.ledger import Ledger
from autograder.class_run.outputs import write_pages
from autograder.class_run.pipeline import grade_class
from autograder.class_run.plan import Received, plan
from autograder.class_run.settings import Settings
from autograder.grading.grader import Task
from autograder.intake.collection import Collected
from autograder.lms.export import ExportRequest, with_late_days
from autograder.lms.formats.nbgrader_csv import nbgrader_csv
from autograder.records import Grade, Origin, State, Submission, Timing
from autograder.store.gradebook import Gradebook
from autograder.store.journal import Journal

DUE = {"toy": datetime(2026, 3, 2, 12, tzinfo=UTC), "toz": datetime(2026, 3, 9, 12, tzinfo=UTC)}
SETS = ("toy", "toz", "tozz", "tozzz")
SETTINGS = """
late_days = {days}
[defaults]
penalty_percent = 10
[sets.toy]
due = {toy}
[sets.toz]
due = {toz}
"""


@pytest.mark.parametrize(
    ("left", "hours", "policy", "spent"),
    [
        (5, 0, Policy(percent=10), 0),
        (5, 1, Policy(percent=10), 1),
        (5, 25, Policy(percent=10), 2),
        (2, 99, Policy(percent=10), 2),
        (5, 48, Policy(percent=0), 0),  # it costs nothing anyway
        (2, 240, Policy(percent=10, cap_percent=50), 0),  # 8 days cost as much as 10: the cap
        (6, 240, Policy(percent=10, cap_percent=50), 6),  # 4 days cost 40 %
        (5, 30, Policy(percent=2, unit=timedelta(hours=1)), 2),
    ],
)
def test_late_days_are_spent_as_far_as_they_save_points(left, hours, policy, spent):
    assert spend(left, Timing(seconds_late=3600 * hours), policy) == spent


def test_mark_of_a_platform_costs_one_late_day():
    assert spend(5, Timing(mark="late"), Policy(percent=10)) == 1


@pytest.fixture
def course(toy_course, toys, tmp_path, without_sandbox):
    """Two sets that are alike; `came` writes when Ada handed one in, `grade` grades it."""
    shutil.copytree(toy_course.folder / "toy", toy_course.folder / "toz")
    checks = toy_course.folder / "toz" / "problem_set.py"
    checks.write_text(checks.read_text().replace('name="toy"', 'name="toz"'))

    class Course:
        out = Settings(tmp_path / "out")

        def settings(self, days=3, **due):
            text = SETTINGS.format(days=days, **{n: d.isoformat() for n, d in (DUE | due).items()})
            (toy_course.folder / "course.toml").write_text(text)

        def came(self, name, days_late, student="ada"):
            place = tmp_path / "submitted" / student / name
            place.mkdir(parents=True, exist_ok=True)
            answers = toys.answer(toy_course, double=toys.double, mean=toys.mean)
            (place / f"{name}.ipynb").write_text(as_text(answers))
            (place / "timestamp.txt").write_text((DUE[name] + timedelta(days_late)).isoformat())

        def released(self, name):
            return ReleasedSet(toy_course, name)

        def grade(self, name):
            return grade_class(self.released(name), tmp_path / "submitted", self.out)

        def timing(self, name):
            found = Journal(self.out.out, name).read("ada").grade.timing
            return found.late_days, found.late_days_left, found.penalty

    made = Course()
    made.settings()
    return made


def test_any_order_of_grading_spends_the_same_days(course):
    """Two and a half days late, then two: three days go into the first, none is left; of three."""
    course.came("toy", 2.5)
    course.came("toz", 2)
    for order in itertools.permutations(("toy", "toz")):
        shutil.rmtree(course.out.out, ignore_errors=True)
        results = [course.grade(name) for name in order]
        assert course.timing("toy") == (3, 0, 0)
        assert course.timing("toz") == (0, 0, 20)
        _shown_everywhere(course)
    assert (
        results[1].notices[-1]
        == "late days were counted anew, so toz has other points: ada 90 → 70"
    )


def _unreadable(course, name):
    raise SyntaxError("half a line")


def _shown_everywhere(course):
    out = course.out.out
    page, dashboard = out / "feedback/ada/toy/toy.html", out / "dashboard/toy/index.html"
    assert "3 late days of yours are spent on it" in page.read_text()
    assert "After this set you have 0 late days left" in page.read_text()
    assert "3 late days spent; 0 late days left" in dashboard.read_text()
    page, _ = write_pages([course.released(name) for name in DUE], course.out)
    overview = page.read_text()
    write_pages([course.released("toy")], course.out)  # as `feedback toy` does
    assert page.read_text() == overview, "the page of the course lost the other set"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(outputs, "ReleasedSet", _unreadable)  # only the other set is asked for there
        _, said = write_pages([course.released("toy")], course.out)
    assert "without toz, which cannot be read: SyntaxError" in said[0]
    write_pages([course.released("toy")], course.out)
    assert "Late days left" in overview and '<td class="number" data-value="0">0</td>' in overview
    page = (out / "feedback/ada/toz/toz.html").read_text()
    assert "20 of 90 points are taken off" in page
    with Gradebook(course.out.url) as book:
        scores = {name: book.final_scores(name) for name in DUE}
    assert [score.points for (score,) in scores.values()] == [90, 70]
    text = nbgrader_csv(
        ExportRequest(
            course.released("toy").outline, with_late_days(scores["toy"], Journal(out, "toy"))
        )
    ).text
    header, row = (line.split(",") for line in text.splitlines())
    assert dict(zip(header, row, strict=True)).items() >= {
        ("late_days", "3"),
        ("late_days_left", "0"),
        ("late_submission_penalty", "0.0"),
    }


def test_what_changes_in_one_set_changes_the_others(course):
    course.came("toy", 1)
    course.came("toz", 3)
    course.grade("toz")
    course.grade("toy")
    assert (course.timing("toy"), course.timing("toz")) == ((1, 2, 0), (2, 0, 10))
    course.settings(toy=DUE["toy"] + timedelta(days=1))  # Ada's first was on time after all
    course.grade("toy")
    assert (course.timing("toy"), course.timing("toz")) == ((0, 3, 0), (3, 0, 0))
    course.settings(days=1)
    course.grade("toz")
    course.grade("toy")
    assert (course.timing("toy"), course.timing("toz")) == ((1, 0, 0), (0, 0, 30))
    course.settings(days=0)
    course.grade("toy")
    assert (course.timing("toy"), course.timing("toz")) == ((0, None, 10), (0, None, 30))


def test_file_that_cannot_be_read_spends_no_day(course, tmp_path):
    course.came("toy", 3)
    course.came("toz", 3)
    notebook = tmp_path / "submitted" / "ada" / "toy" / "toy.ipynb"
    notebook.write_text("{")
    course.grade("toy")
    course.grade("toz")
    assert (course.timing("toy")[0], course.timing("toz")) == (0, (3, 0, 0))


def test_plan_says_what_would_be_spent(course, tmp_path):
    course.came("toy", 2)
    course.grade("toy")
    course.came("toz", 2)
    (planned,) = plan(course.released("toz"), tmp_path / "submitted", course.out)
    assert (planned.timing.late_days, planned.timing.penalty) == (1, 10)


@pytest.mark.parametrize("where", ["record", "outputs"])
def test_run_that_is_killed_leaves_the_days_to_the_next(course, monkeypatch, where):
    course.came("toy", 2)
    course.came("toz", 2)
    course.grade("toz")

    class Killed(BaseException):
        pass

    def kill(*args, **named):
        raise Killed

    with monkeypatch.context() as patch:
        if where == "record":  # toz is counted anew, toy is not recorded
            writes = iter((Journal.write, kill))
            patch.setattr(Journal, "write", lambda *args: next(writes)(*args))
        else:  # both are recorded, no page of toz is written
            patch.setattr(pipeline, "write_recounted", kill)
        with pytest.raises(Killed):
            course.grade("toy")
    course.grade("toy")
    assert (course.timing("toy"), course.timing("toz")) == ((2, 1, 0), (1, 0, 10))
    with Gradebook(course.out.url) as book:
        assert [book.final_scores(name)[0].points for name in DUE] == [90, 80]
    assert "10 of 90 points" in (course.out.out / "feedback/ada/toz/toz.html").read_text()


@pytest.mark.exhaustive
@settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    steps=st.lists(
        st.tuples(st.sampled_from(SETS), st.floats(-1, 6), st.booleans()), min_size=1, max_size=9
    ),
    days=st.integers(0, 6),
)
def test_whatever_is_graded_in_whatever_order_ends_as_in_the_order_of_due_dates(
    toy_course, tmp_path_factory, steps, days
):
    """Sets are graded and graded again, with other times, also with a run in between killed."""
    for name in SETS[1:]:
        if not (toy_course.folder / name).exists():
            shutil.copytree(toy_course.folder / "toy", toy_course.folder / name)
            checks = toy_course.folder / name / "problem_set.py"
            checks.write_text(checks.read_text().replace('name="toy"', f'name="{name}"'))
    text = f"late_days = {days}\n[defaults]\npenalty_percent = 10\n"
    for number, name in enumerate(SETS):
        text += f"[sets.{name}]\ndue = {(DUE['toy'] + timedelta(7 * number)).isoformat()}\n"
    (toy_course.folder / "course.toml").write_text(text)
    out, late = tmp_path_factory.mktemp("out"), {}
    sets = {name: ReleasedSet(toy_course, name) for name in SETS}
    for name, days_late, is_killed in steps:
        released, journal = sets[name], Journal(out, name)
        came = released.policy.due + timedelta(days_late)
        found = Collected("ada", out, submitted_at=came, time_source="a list")
        timing = timing_of(found, released.policy, 100.0, came)
        one = Task(Submission("ada", name, b"", "ab"), "key", 7, (), "")
        arrival = Received(one, timing, {}, journal.read("ada"), Origin())
        grade = Grade("ada", name, State.GRADED, "ab", 7)
        if is_killed:  # the others are counted anew, this one is not recorded; then once more
            late_days = LateDays(released, out)
            new = late_days.apply(replace(grade, timing=timing))
            earlier = arrival.earlier.grade if arrival.earlier else None
            for other, _, record in late_days.changed_by(new, earlier):
                other.write(record)
        Ledger(released, journal, out).enter(arrival, grade)
        late[name] = max(0, math.ceil(timedelta(days_late) / timedelta(1)))
    left = days
    for name in SETS:
        if name in late:
            spent = min(left, late[name])
            left -= spent
            timing = Journal(out, name).read("ada").grade.timing
            assert timing.late_days == spent
            assert timing.penalty == 10 * (late[name] - spent)
            assert timing.late_days_left == (left if days else None)
