import gc
import json
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from autograder.authoring import release
from autograder.authoring.notebooks import as_text
from autograder.authoring.release import ReleasedSet
from autograder.class_run import pipeline, student_pages, workers
from autograder.class_run.pipeline import grade_class
from autograder.class_run.result import Watcher
from autograder.class_run.settings import Settings
from autograder.grading import grader
from autograder.grading.grader import Confinement, Grader, Task
from autograder.inside.process_limits import Limits
from autograder.records import (
    CellResult,
    GraderError,
    Observation,
    PartVerdict,
    State,
    Submission,
    Verdict,
)
from autograder.sandbox.submission_run import STARVED
from autograder.store.journal import Journal

# Only what is computed counts: a busy machine changes no grade.
QUICK = Confinement(Limits(cell_seconds=3, submission_seconds=20, wall_factor=60))
LOOP = "def double(numbers):\n    while True:\n        pass"


@pytest.fixture(scope="module")
def graded(tmp_path_factory, toys):
    """One class of every kind, graded once; the tests of this file look at what came out."""
    folder = tmp_path_factory.mktemp("graded")
    course = toys.make_course(folder / "course")
    checks = folder / "course" / "toy" / "problem_set.py"
    checks.write_text(checks.read_text().replace("target=", "seconds=2, target="))
    received = folder / "class"
    received.mkdir()
    hand_ins = {
        "ada": toys.answer(course, toys.double, toys.mean, "Because."),
        "bo": toys.answer(course, toys.square, toys.no_empty_mean, "No idea."),
        "blank": toys.answer(course),
        "loop": toys.answer(course, LOOP, toys.mean),
        "exit": toys.answer(course, "import os\nos._exit(0)", toys.mean),
        "stderr": toys.answer(
            course, f"import sys\nprint('hm', file=sys.stderr)\n{toys.double}", toys.mean
        ),
    }
    for student, notebook in hand_ins.items():
        text = as_text(notebook)
        (received / f"{student}.ipynb").write_text(text)
    (received / "broken.ipynb").write_text("{")
    (received / "list.ipynb").write_text("[]")
    (received / "latin.ipynb").write_bytes(b'{"cells": "\xe9"}')
    (received / "link.ipynb").symlink_to(course.source("toy"))
    settings = Settings(folder / "out", confinement=QUICK)
    return course, received, settings, grade_class(ReleasedSet(course, "toy"), received, settings)


def _grade(result, student):
    (found,) = [grade for grade in result.grades if grade.student == student]
    return found


@pytest.mark.sandbox
def test_every_student_ends_in_exactly_one_state(graded):
    *_, result = graded
    assert {grade.student: grade.state for grade in result.grades} == {
        "ada": State.GRADED,
        "bo": State.GRADED,
        "blank": State.GRADED,
        "broken": State.REFUSED,
        "exit": State.GRADED_WITH_PROBLEMS,
        "latin": State.REFUSED,
        "link": State.REFUSED,
        "list": State.REFUSED,
        "loop": State.GRADED,
        "stderr": State.GRADED,
    }
    assert sum(result.states.values()) == len(result.grades) == 10


@pytest.mark.sandbox
@pytest.mark.parametrize(
    ("student", "points"),
    [
        ("ada", 90),
        ("bo", 20 + 15),
        ("blank", 0),
        ("exit", 30),
        ("loop", 30),
        ("stderr", 90),
        ("broken", 0),
    ],
)
def test_points_are_those_that_were_earned(graded, student, points):
    *_, result = graded
    assert _grade(result, student).points == points
    assert _grade(result, student).max_points == 90


@pytest.mark.sandbox
@pytest.mark.parametrize(
    ("student", "reason"),
    [
        ("broken", "not JSON"),
        ("list", "a JSON list, not a notebook"),
        ("latin", "not UTF-8"),
        ("link", "link.ipynb is a symbolic link"),
        ("exit", "cell"),
    ],
)
def test_what_went_wrong_is_recorded(graded, student, reason):
    *_, result = graded
    assert any(reason in line for line in _grade(result, student).reasons)


@pytest.mark.sandbox
def test_misconception_is_named(graded):
    *_, result = graded
    assert _grade(result, "bo").verdicts[0].misconception.name == "squares"


@pytest.mark.sandbox
def test_what_is_long_stands_in_the_record_alone(graded):
    """A class of 1,000 stays in memory until its page is written."""
    _, _, settings, result = graded
    recorded = Journal(settings.out, "toy").read("bo").grade
    (held,) = [grade for grade in result.grades if grade.student == "bo"]
    assert any(part.staff_note for verdict in recorded.verdicts for part in verdict.parts)
    assert held == recorded.for_tables() != recorded
    for grade in result.grades:
        notes = [part.staff_note for verdict in grade.verdicts for part in verdict.parts]
        assert not any(notes) and grade.cells == ()


@pytest.mark.sandbox
def test_isolation_stands_in_every_grade_that_ran(graded):
    *_, result = graded
    for grade in result.grades:
        assert ("bubblewrap" in grade.isolation) == (grade.state is not State.REFUSED)


@pytest.mark.sandbox
def test_every_student_has_a_page_and_the_class_has_one(graded):
    _, _, settings, result = graded
    for grade in result.grades:
        assert (settings.out / "feedback" / grade.student / "toy" / "toy.html").is_file()
    page = result.page.read_text()
    assert all(f">{grade.student}</a>" in page for grade in result.grades)


@pytest.mark.sandbox
def test_second_run_grades_nothing_and_gives_the_same(graded, monkeypatch):
    course, received, settings, first = graded

    def never(*args):
        raise AssertionError("nothing is left to grade")

    monkeypatch.setattr(workers, "Grader", never)
    again = grade_class(ReleasedSet(course, "toy"), received, settings)
    assert again.reused == len(again.grades)
    assert again.grades == first.grades
    assert again.changes == ()


@pytest.mark.sandbox
def test_gradebook_holds_the_same_points(graded):
    _, _, settings, result = graded
    rows = sqlite3.connect(settings.out / "gradebook.db").execute(
        "select s.student_id, sum(g.auto_score) from grade g"
        " join submitted_notebook n on n.id = g.notebook_id"
        " join submitted_assignment s on s.id = n.assignment_id group by s.student_id"
    )
    points = {student: total or 0 for student, total in rows}
    assert points == {grade.student: grade.points for grade in result.grades}


@pytest.mark.slow
@pytest.mark.sandbox
def test_same_submission_gets_the_same_grade_in_another_run(graded, tmp_path):
    course, received, settings, first = graded
    salt = settings.out / "records" / "salt"
    (tmp_path / "out" / "records").mkdir(parents=True)
    (tmp_path / "out" / "records" / "salt").write_text(salt.read_text())
    (tmp_path / "class").mkdir()
    data = (received / "bo.ipynb").read_bytes()
    (tmp_path / "class" / "bo.ipynb").write_bytes(data)
    settings = Settings(tmp_path / "out", confinement=QUICK)
    second = grade_class(ReleasedSet(course, "toy"), tmp_path / "class", settings)
    assert second.grades[0].verdicts == _grade(first, "bo").verdicts
    assert second.grades[0].seed == _grade(first, "bo").seed


def _settings(tmp_path, **changes):
    return Settings(tmp_path / "out", **({"confinement": QUICK} | changes))


@pytest.mark.usefixtures("without_sandbox")
def test_only_what_has_changed_is_graded_again(toys, toy_course, hand_in, tmp_path):
    hand_in("ada", double=toys.double, mean=toys.mean)
    folder = hand_in("bo", double=toys.square, mean=toys.mean)
    grade_class(ReleasedSet(toy_course, "toy"), folder, _settings(tmp_path))
    hand_in("bo", double=toys.double, mean=toys.mean)
    hand_in("cy", double=toys.double, mean=toys.mean)
    result = grade_class(ReleasedSet(toy_course, "toy"), folder, _settings(tmp_path))
    assert result.reused == 1
    assert [grade.points for grade in result.grades] == [90, 90, 90]
    (change,) = result.changes
    assert (change.student, change.before, change.after) == ("bo", 50, 90)


@pytest.mark.usefixtures("without_sandbox")
def test_set_is_built_and_each_notebook_repaired_once_in_a_run(
    toys, toy_course, hand_in, tmp_path, monkeypatch
):
    calls = []

    def counted(owner, function):
        plain = getattr(owner, function)

        def call(*args):
            calls.append(function)
            return plain(*args)

        monkeypatch.setattr(owner, function, call)

    for owner, function in ((grader, "repair"), (student_pages, "repair"), (release, "build")):
        counted(owner, function)
    hand_in("ada", double=toys.double, mean=toys.mean)
    hand_in("bo", b"{")
    folder = hand_in("cy", double=toys.square, mean=toys.mean)
    calls.clear()
    grade_class(ReleasedSet(toy_course, "toy"), folder, _settings(tmp_path))
    assert sorted(calls) == ["build", "repair", "repair", "repair"]
    calls.clear()
    again = grade_class(ReleasedSet(toy_course, "toy"), folder, _settings(tmp_path))
    assert again.reused == 3
    assert sorted(calls) == ["build", "repair", "repair"]  # there is no page of bo's notebook


@pytest.mark.usefixtures("without_sandbox")
def test_changed_check_grades_everybody_again(toys, toy_course, hand_in, tmp_path):
    folder = hand_in("ada", double=toys.double, mean=toys.mean)
    grade_class(ReleasedSet(toy_course, "toy"), folder, _settings(tmp_path))
    checks = toy_course.folder / "toy" / "problem_set.py"
    checks.write_text(checks.read_text() + "\n# a comment counts as a change\n")
    result = grade_class(ReleasedSet(toy_course, "toy"), folder, _settings(tmp_path))
    assert result.reused == 0


@pytest.mark.usefixtures("without_sandbox")
def test_fault_of_the_grader_is_recorded_and_tried_again(
    toys, toy_course, hand_in, tmp_path, monkeypatch
):
    hand_in("ada", double=toys.double, mean=toys.mean)
    folder = hand_in("bo", double=toys.double, mean=toys.mean)
    judge = Grader.judge

    def fails_once(*asked):
        monkeypatch.setattr(Grader, "judge", judge)
        raise RuntimeError("out of luck")

    monkeypatch.setattr(Grader, "judge", fails_once)
    first = grade_class(ReleasedSet(toy_course, "toy"), folder, _settings(tmp_path))
    assert first.states == {State.GRADER_FAULT: 1, State.GRADED: 1}
    (unlucky,) = [grade for grade in first.grades if grade.state is State.GRADER_FAULT]
    assert unlucky.reasons == ("the grader failed: RuntimeError: out of luck",)
    assert "fault of the grader" in _page(tmp_path, unlucky.student).lower()
    second = grade_class(ReleasedSet(toy_course, "toy"), folder, _settings(tmp_path))
    assert [grade.state for grade in second.grades] == [State.GRADED, State.GRADED]
    assert second.reused == 1


@pytest.mark.usefixtures("without_sandbox")
def test_whom_the_machine_let_wait_is_graded_once_more_after_all_others(
    toys, toy_course, hand_in, tmp_path, monkeypatch
):
    """The second grade stands, whatever it is; nobody gets a third."""
    for student in ("ada", "bo", "cy"):
        folder = hand_in(student, double=f"{toys.double}\n# {student}", mean=toys.mean)
    judge, turns = Grader.judge, []

    def starves(self, repaired, seed, checks, shown):
        who = next(s for s in ("ada", "bo", "cy") if f"# {s}" in "".join(repaired.cells))
        turns.append(who)
        run, verdicts, unjudged = judge(self, repaired, seed, checks, shown)
        if who == "bo" or (who == "ada" and turns.count("ada") == 1):
            none = tuple(replace(verdict, points=0.0) for verdict in verdicts)
            return replace(run, problems=(STARVED,)), none, unjudged
        return run, verdicts, unjudged

    monkeypatch.setattr(Grader, "judge", starves)
    result = grade_class(ReleasedSet(toy_course, "toy"), folder, _settings(tmp_path))
    assert sorted(turns[:3]) == ["ada", "bo", "cy"] and sorted(turns[3:]) == ["ada", "bo"]
    seen = {grade.student: (grade.state, grade.reasons, grade.points) for grade in result.grades}
    assert seen == {
        "ada": (State.GRADED, (), 90.0),
        "bo": (State.GRADED_WITH_PROBLEMS, (STARVED,), 0.0),
        "cy": (State.GRADED, (), 90.0),
    }
    assert Journal(tmp_path / "out", "toy").read("ada").grade.points == 90.0


def _alive(*kinds):
    """Count what is alive of some types, or of all of ours."""
    gc.collect()
    types = Counter(type(one) for one in gc.get_objects())
    ours = [kind for kind in types if str(kind.__module__).startswith("autograder.")]
    return {kind.__name__: types[kind] for kind in kinds or ours if types[kind]}


@pytest.mark.usefixtures("without_sandbox")
def test_what_a_class_leaves_in_memory_does_not_grow_with_it_but_for_its_grades(
    toys, toy_course, hand_in, tmp_path
):
    left, results = {}, []
    for n_students in (3, 30):
        for n in range(n_students):
            double = (toys.double, toys.square, "")[n % 3]
            folder = hand_in(f"s{n}", double=f"{double}\n# {n}", mean=toys.mean)
        settings = _settings(tmp_path / f"{n_students}")
        before = _alive(PartVerdict, Observation, CellResult, Verdict)
        results.append(grade_class(ReleasedSet(toy_course, "toy"), folder, settings))
        after = _alive(PartVerdict, Observation, CellResult, Verdict)
        left[n_students] = {kind: n - before.get(kind, 0) for kind, n in after.items()}
    assert [len(result.grades) for result in results] == [3, 30]
    assert left[30].pop("Verdict") == 10 * left[3].pop("Verdict")  # as the page's table needs
    assert left[30].pop("PartVerdict") < 10  # of 120: one stands for all that are equal
    assert not any(left[30].values()), left


@pytest.mark.usefixtures("without_sandbox")
def test_grader_keeps_as_much_after_30_submissions_as_after_3(toys, toy_course):
    notebook = as_text(toys.answer(toy_course, toys.square, toys.no_empty_mean)).encode()
    submission, left = Submission("ada", "toy", notebook, ""), {}
    with Grader(ReleasedSet(toy_course, "toy"), Confinement()) as grader:
        for n in range(1, 31):
            grader.grade(Task(submission, f"{n}", seed=n))
            left[n] = _alive() if n in (3, 30) else {}
    assert left[3]["ProbeRequest"] > 0
    assert left[3] == left[30]


@pytest.mark.usefixtures("without_sandbox")
def test_check_that_breaks_is_the_courses_fault_and_costs_the_student_nothing(
    toys, toy_course, hand_in, tmp_path
):
    checks = toy_course.folder / "toy" / "problem_set.py"
    broken = checks.read_text().replace("def _mean(numbers):", "def _mean(numbers):\n    1 / 0")
    checks.write_text(broken)
    folder = hand_in("ada", double=toys.square, mean=toys.mean)
    result = grade_class(ReleasedSet(toy_course, "toy"), folder, _settings(tmp_path))
    (grade,) = result.grades
    assert grade.state is State.GRADER_FAULT
    assert [verdict.points for verdict in grade.verdicts] == [20, 30]
    assert "ZeroDivisionError" in grade.verdicts[1].fault
    assert "ZeroDivisionError" in result.page.read_text()
    assert "ZeroDivisionError" not in _page(tmp_path, "ada")


def _page(tmp_path, student):
    return (tmp_path / "out" / "feedback" / student / "toy" / "toy.html").read_text()


@pytest.mark.slow
@pytest.mark.sandbox
def test_several_processes_give_the_same_grades_as_one(graded, tmp_path):
    course, received, settings, first = graded
    (tmp_path / "out" / "records").mkdir(parents=True)
    salt = (settings.out / "records" / "salt").read_text()
    (tmp_path / "out" / "records" / "salt").write_text(salt)
    second = grade_class(ReleasedSet(course, "toy"), received, _settings(tmp_path, jobs=2))
    for ours, theirs in zip(first.grades, second.grades, strict=True):
        assert (ours.student, ours.state, ours.verdicts) == (
            theirs.student,
            theirs.state,
            theirs.verdicts,
        )


@pytest.mark.sandbox
def test_lost_outputs_are_written_again_from_the_records(graded):
    course, received, settings, _ = graded
    page = settings.out / "feedback" / "bo" / "toy" / "toy.html"
    before = page.read_bytes()
    page.unlink()
    (settings.out / "gradebook.db").unlink()
    grade_class(ReleasedSet(course, "toy"), received, settings)
    assert page.read_bytes() == before
    test_gradebook_holds_the_same_points(graded)


@pytest.mark.usefixtures("without_sandbox")
def test_new_gradebook_for_a_class_that_had_one_is_said(toys, toy_course, hand_in, tmp_path):
    folder, warned = hand_in("ada", double=toys.double), []
    settings, released = _settings(tmp_path), ReleasedSet(toy_course, "toy")
    watcher = Watcher(warned=warned.extend)
    grade_class(released, folder, settings, watcher)
    grade_class(released, folder, settings, watcher)
    assert warned == []
    (settings.out / "gradebook.db").unlink()
    grade_class(released, folder, settings, watcher)
    (said,) = warned
    assert "gradebook.db is not there" in said and "none that were given by hand" in said


@pytest.mark.usefixtures("without_sandbox")
def test_watcher_hears_of_every_submission_once(toys, toy_course, hand_in, tmp_path):
    hand_in("ada", double=toys.double, mean=toys.mean)
    folder = hand_in("bo", b"{")
    heard = []
    watcher = Watcher(heard.append, lambda grade, reused: heard.append((grade.student, reused)))
    grade_class(ReleasedSet(toy_course, "toy"), folder, _settings(tmp_path), watcher)
    assert heard[0] == 2 and sorted(heard[1:]) == [("ada", False), ("bo", False)]


def test_two_graders_in_one_folder_are_kept_apart(toy_course, hand_in, tmp_path):
    folder = hand_in("ada")
    with (
        Journal(tmp_path / "out", "toy").only_writer(),
        pytest.raises(GraderError, match="another grader is at work"),
    ):
        # A process's own lock does not keep it out, so the second grader is another process.
        done = _command(toy_course, folder, tmp_path / "out").communicate()
        raise GraderError(done[1].decode())


@pytest.mark.usefixtures("without_sandbox")
@pytest.mark.parametrize("of_older_version", [False, True])
def test_formgraders_notebook_in_which_somebody_has_written_is_kept(
    toy_course, hand_in, tmp_path, of_older_version
):
    """Not beside it: nbgrader takes every notebook there for a part of the assignment."""
    folder, released = hand_in("ada"), ReleasedSet(toy_course, "toy")
    shown = tmp_path / "out" / "autograded" / "ada" / "toy" / "toy.ipynb"

    def grade_again():
        result = grade_class(released, folder, _settings(tmp_path))
        return [notice for notice in result.notices if "edited by hand" in notice]

    assert grade_again() == []
    as_made = json.loads(shown.read_text())
    if of_older_version:
        del as_made["metadata"]["autograder"]
    shown.write_text(json.dumps(as_made, indent=4))  # as another program lays the same out
    assert grade_again() == [] and [*shown.parent.iterdir()] == [shown]
    as_made["cells"][1]["source"] = "# A remark of the tutor's"
    shown.write_text(json.dumps(as_made))
    (line,) = grade_again()
    (kept,) = (shown.parent / "kept").iterdir()
    assert str(kept) in line and json.loads(kept.read_text()) == as_made
    assert "the tutor's" not in shown.read_text() and grade_again() == []


def _command(course, folder, out, *more):
    command = [sys.executable, "-m", "autograder", f"--course={course.folder}", "grade", "toy"]
    command += [f"--submissions={folder}", f"--out={out}", *more]
    return subprocess.Popen(command, cwd=Path(pipeline.__file__).parents[2], stdout=-1, stderr=-1)


@pytest.mark.slow
@pytest.mark.sandbox
def test_killed_run_goes_on_where_it_stopped(toys, toy_course, hand_in, tmp_path):
    """kill -9 at several moments over a class, then finish: the grades of an undisturbed run."""
    answers = [
        (toys.double, toys.mean),
        (toys.square, toys.mean),
        (toys.double, toys.no_empty_mean),
        (toys.square, ""),
        ("", toys.mean),
    ]
    for number in range(20):
        double, mean = answers[number % len(answers)]
        folder = hand_in(f"student-{number:02d}", double=double, mean=mean)
    undisturbed = grade_class(
        ReleasedSet(toy_course, "toy"), folder, _settings(tmp_path, resume=False)
    )
    salt = (tmp_path / "out" / "records" / "salt").read_text()
    out = tmp_path / "killed"
    (out / "records").mkdir(parents=True)
    (out / "records" / "salt").write_text(salt)
    moments = (0, 4, 11)  # submissions recorded before a kill: at the start, and in the middle
    for recorded in moments:
        process = _command(toy_course, folder, out)
        end = time.monotonic() + 600
        while process.poll() is None:
            assert time.monotonic() < end, "the grader hangs"
            if len(list(out.glob("records/toy/*.json"))) >= recorded:
                time.sleep(0.03 * recorded)
                break
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.communicate()
    process = _command(toy_course, folder, out)
    assert process.communicate() and process.returncode == 0
    journal = Journal(out, "toy")
    assert journal.students() == tuple(grade.student for grade in undisturbed.grades)
    for grade in undisturbed.grades:
        assert journal.read(grade.student).grade.for_tables().verdicts == grade.verdicts
    strays = [path for path in out.rglob(".writing-*")]
    # A kill may leave the file that it was writing, never half a record.
    assert len(strays) <= len(moments)
