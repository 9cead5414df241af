"""A judge of the course that never ends on what one student of three has handed in."""

import json
import multiprocessing
import sqlite3
import sys
import time
from dataclasses import replace

import pytest

from autograder.authoring.course import Course
from autograder.authoring.notebooks import as_text
from autograder.authoring.release import ReleasedSet
from autograder.class_run import own_work
from autograder.class_run.own_work import grade_own
from autograder.class_run.pipeline import grade_class
from autograder.class_run.plan import Received
from autograder.class_run.settings import Settings
from autograder.grading import grader, judge_process
from autograder.grading.grader import Confinement, Grader, Task
from autograder.grading.watched_process import JudgingLimits
from autograder.inside.process_limits import Limits
from autograder.lms import gradescope_run
from autograder.records import Grade, Origin, State, Submission, Timing, Verdict
from autograder.reports.student_feedback import seen_by_student
from autograder.store.journal import Journal, Record

QUICK = JudgingLimits(item_seconds=0.2, submission_seconds=1.0)
CONFINEMENT = Confinement(Limits(cell_seconds=20, submission_seconds=60), judging=QUICK)
HUGE = "def mean(numbers):\n    return 10 ** 9"
WHY = "toy_mean was not judged: on this answer its judge did not end within 0.2 s of CPU"
JUDGE = '''
def _in_digits(observed, expected, inputs):
    """What an author may write who thinks of no adversary: one call of C, for hours."""
    if round(observed, 9) == round(expected, 9):
        return None
    with open({flag!r}, "w"):
        return f"the result has {{len(hex(3 ** int(observed)))}} digits"
'''


@pytest.fixture
def released(toy_course, tmp_path):
    """The toy set, whose second item is judged by what never ends on a number that is huge."""
    checks = toy_course.folder / "toy" / "problem_set.py"
    text, found = checks.read_text(), 'The average is right.", _numbers, _ask'
    assert found in text
    judge = JUDGE.format(flag=str(tmp_path / "at it"))
    text = text.replace(found, f"{found}, judge=_in_digits")
    checks.write_text(text.replace("PROBLEM_SET =", f"{judge}\n\nPROBLEM_SET ="))
    return ReleasedSet(toy_course, "toy")


@pytest.fixture
def trio(toys, hand_in):
    for student in ("ada", "bo", "cy"):
        folder = hand_in(student, double=toys.double, mean=HUGE if student == "bo" else toys.mean)
    return folder


def _assert_costs_that_item_alone(result, out):
    grades = {grade.student: grade for grade in result.grades}
    for student in ("ada", "cy"):
        assert (grades[student].state, grades[student].points) == (State.GRADED, 90)
    unjudged = grades["bo"]
    assert unjudged.state is State.GRADER_FAULT
    assert [(one.item, one.points) for one in unjudged.verdicts] == [("toy_double", 60)]
    assert list(unjudged.unjudged) == ["toy_mean"] and WHY in unjudged.unjudged["toy_mean"]
    assert WHY in result.page.read_text()
    rows = sqlite3.connect(out / "gradebook.db").execute(
        "SELECT student_id, base_cell.name, auto_score, needs_manual_grade FROM grade "
        "JOIN base_cell ON base_cell.id = grade.cell_id "
        "JOIN submitted_notebook ON submitted_notebook.id = grade.notebook_id "
        "JOIN submitted_assignment ON submitted_assignment.id = submitted_notebook.assignment_id"
    )
    scores = {(student, item): (score, bool(by_hand)) for student, item, score, by_hand in rows}
    assert scores["bo", "toy_mean"] == (None, True)  # neither given nor taken
    assert scores["bo", "toy_double"][0] == 60
    assert scores["ada", "toy_mean"] == scores["cy", "toy_mean"] == (30, False)


@pytest.mark.usefixtures("without_sandbox")
def test_class_goes_on_and_does_not_wait_for_it_again(released, trio, tmp_path):
    settings = Settings(tmp_path / "out", confinement=CONFINEMENT)
    first = grade_class(released, trio, settings)
    _assert_costs_that_item_alone(first, settings.out)
    page = next((settings.out / "feedback").rglob("bo/**/*.html")).read_text()
    assert "could not judge your answer" in page and "60 of 60" in page
    (bo,) = (grade for grade in first.grades if grade.student == "bo")
    seen = seen_by_student(released.outline, bo, None, {})["grade"]
    assert "not judged" not in str(seen) and list(seen.unjudged) == ["toy_mean"]
    (tmp_path / "at it").unlink()
    again = grade_class(released, trio, settings)  # as every round of --watch does
    assert again.reused == 3 and again.grades == first.grades
    assert not (tmp_path / "at it").exists()
    grade_class(released, trio, replace(settings, resume=False))  # --again
    assert (tmp_path / "at it").exists()
    checks = released.course.folder / "toy" / "problem_set.py"
    checks.write_text(checks.read_text().replace("{len(hex(3 ** int(observed)))}", "too many"))
    for name, module in list(sys.modules.items()):  # as in another run of the command
        if str(getattr(module, "__file__", "")).startswith(str(released.course.folder)):
            del sys.modules[name]
    repaired = grade_class(ReleasedSet(Course(released.course.folder), "toy"), trio, settings)
    grades = {grade.student: grade for grade in repaired.grades}
    assert (grades["bo"].state, grades["bo"].points) == (State.GRADED, 60)


@pytest.mark.sandbox
def test_class_goes_on_where_several_processes_grade(released, trio, tmp_path):
    settings = Settings(tmp_path / "out", jobs=2, confinement=CONFINEMENT)
    _assert_costs_that_item_alone(grade_class(released, trio, settings), settings.out)


@pytest.mark.usefixtures("without_sandbox")
def test_run_that_is_killed_while_it_judges_goes_on_from_there(released, trio, tmp_path):
    unlimited = Settings(tmp_path / "out", confinement=replace(CONFINEMENT, judging=None))
    arguments = released, trio, unlimited
    run = multiprocessing.get_context("fork").Process(target=grade_class, args=arguments)
    run.start()
    deadline = time.monotonic() + 120
    while not (tmp_path / "at it").exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    run.kill()
    run.join()
    recorded = len(Journal(unlimited.out, "toy").students())
    assert recorded < 3
    result = grade_class(released, trio, replace(unlimited, confinement=CONFINEMENT))
    assert result.reused == recorded
    _assert_costs_that_item_alone(result, unlimited.out)


@pytest.mark.usefixtures("without_sandbox")
def test_learner_who_grades_herself_does_not_wait(released, toys, tmp_path, monkeypatch):
    monkeypatch.setattr(judge_process, "LIMITS", QUICK)
    monkeypatch.setattr(own_work, "OwnProcess", grader.Sandbox)  # as `without_sandbox` has it
    path = tmp_path / "toy.ipynb"
    path.write_text(as_text(toys.answer(released.course, double=toys.double, mean=HUGE)))
    own = grade_own(released, path)
    assert own.grade.state is State.GRADER_FAULT and WHY in own.grade.reasons[-1]
    assert any(line.lstrip().startswith("open of 30") for line in own.lines)


@pytest.mark.usefixtures("without_sandbox")
def test_explanation_says_what_happened(released, toys, tmp_path, trio):
    settings = Settings(tmp_path / "out", confinement=CONFINEMENT)
    grade_class(released, trio, settings)
    journal = Journal(settings.out, "toy")
    record = journal.read("bo")
    assert json.loads(json.dumps(record.grade.unjudged)) == record.grade.unjudged
    kept = journal.submission("bo", record.grade.sha256)
    with Grader(released, CONFINEMENT) as opened:
        with pytest.raises(judge_process.Unjudged, match=WHY.replace(".", r"\.")):
            opened.explain(kept, record.grade.seed, "toy_mean")
        assert opened.explain(kept, record.grade.seed, "toy_double").points == 60


@pytest.mark.usefixtures("without_sandbox")
def test_gradescope_shows_the_task_without_a_score(released, toys, capsys):
    notebook = as_text(toys.answer(released.course, double=toys.double, mean=HUGE)).encode()
    with Grader(released, CONFINEMENT) as opened:
        graded = opened.grade(Task(Submission("bo", "toy", notebook, ""), "", 7))
    results = gradescope_run._results(graded, released.outline, {"visibility": "visible"})
    assert results["score"] == 60 and results["extra_data"] == {"state": "grader fault"}
    double, mean = results["tests"]
    assert double["score"] == 60 and "score" not in mean
    assert "could not judge your answer" in mean["output"]
    assert "did not end" not in str(results) and WHY in capsys.readouterr().out


def test_a_fault_of_another_item_is_tried_again():
    fault = Verdict("toy_double", 0.0, 60.0, (), fault="its reference version raises")
    for verdicts, stands in (((), True), ((fault,), False)):
        grade = Grade("bo", "toy", State.GRADER_FAULT, "ab" * 32, 7, verdicts)
        earlier = Record("key", replace(grade, unjudged={"toy_mean": "did not end"}))
        task = Task(Submission("bo", "toy", b"", "ab" * 32), "key", 7)
        received = Received(task, Timing(), {}, earlier, Origin())
        assert received.takes_over(resume=True) == stands
