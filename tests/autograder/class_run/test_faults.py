"""Whatever happens to a run, the next one ends with the grades of a run that nobody disturbed.

`AUTOGRADER_KILLS=100` makes the tests that kill do so that often, over a class of 50; by default
they kill a few times over a smaller one. `benchmarks/grader/grading_faults.py` runs them so, and
records what each has counted.
"""

import errno
import itertools
import multiprocessing
import os
import random
import signal
import sqlite3
import time
from dataclasses import replace
from pathlib import Path

import pytest

from autograder import files
from autograder.authoring.release import ReleasedSet
from autograder.class_run import run, workers
from autograder.class_run.pipeline import grade_class
from autograder.class_run.result import Watcher
from autograder.class_run.settings import Settings
from autograder.grading import grader
from autograder.grading.grader import Confinement
from autograder.inside.process_limits import Limits
from autograder.records import GraderError, State
from autograder.sandbox.submission_run import STARVED
from autograder.store.journal import Journal

pytestmark = pytest.mark.slow

N_KILLS = int(os.environ.get("AUTOGRADER_KILLS", "4"))
N_STUDENTS = 50 if N_KILLS > 10 else 15
QUICK = Confinement(Limits(cell_seconds=30, submission_seconds=120))


@pytest.fixture
def class_of(toys, hand_in):
    """Write a class whose answers differ, and return its folder."""

    def write(n_students):
        answers = [
            (toys.double, toys.mean),
            (toys.square, toys.mean),
            (toys.double, toys.no_empty_mean),
            (toys.square, ""),
            ("", toys.mean),
        ]
        for number in range(n_students):
            double, mean = answers[number % len(answers)]
            folder = hand_in(f"student-{number:02d}", double=double, mean=mean)
        return folder

    return write


def _settings(out, salt="a salt", **changes):
    """Settings for a folder whose questions are those of every other folder with this salt."""
    (out / "records").mkdir(parents=True, exist_ok=True)
    (out / "records" / "salt").write_text(salt)
    return Settings(out, confinement=QUICK, **changes)


def _results(out):
    """What stands on disk for each student: verdicts in the record, points in the gradebook."""
    journal = Journal(out, "toy")
    with sqlite3.connect(out / "gradebook.db") as book:
        rows = book.execute(
            "select s.student_id, sum(g.auto_score) from grade g"
            " join submitted_notebook n on n.id = g.notebook_id"
            " join submitted_assignment s on s.id = n.assignment_id group by s.student_id"
        )
        points = dict(rows)
    pages = {path.name for path in (out / "feedback").iterdir()}
    assert pages == set(points) == set(journal.students())
    return {student: (journal.read(student).grade.verdicts, points[student]) for student in points}


@pytest.fixture
def log(tmp_path, monkeypatch):
    """A file with one character for each time that a submission was graded, in any process."""
    path, plain = tmp_path / "log", grader.Grader.grade

    def noted(self, task):
        with open(path, "a") as log:
            log.write(".")
        return plain(self, task)

    monkeypatch.setattr(grader.Grader, "grade", noted)
    return path


def _fork(course, folder, settings):
    """Grade a class in another process; its exit status says whether it came to the end."""
    pid = os.fork()
    if pid == 0:
        try:
            grade_class(ReleasedSet(course, "toy"), folder, settings)
        except GraderError:
            os._exit(3)
        except BaseException:
            os._exit(1)
        os._exit(0)
    return pid


@pytest.mark.usefixtures("without_sandbox")
def test_killed_grader_loses_nothing_and_grades_nothing_twice(
    toy_course, class_of, tmp_path, log, record_property
):
    folder = class_of(N_STUDENTS)
    started = time.monotonic()
    grade_class(ReleasedSet(toy_course, "toy"), folder, _settings(tmp_path / "undisturbed"))
    patience, expected = time.monotonic() - started, _results(tmp_path / "undisturbed")
    rng, n_killed, classes, n_graded = random.Random(7), 0, 0, 0
    while n_killed < N_KILLS:
        out, disturbed = tmp_path / f"out-{classes}", 0
        log.write_text("")
        while True:
            pid = _fork(toy_course, folder, _settings(out))
            if n_killed < N_KILLS:
                time.sleep(rng.uniform(0.1, 0.8) * patience)
                os.kill(pid, signal.SIGKILL)
            status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
            # Other work makes this machine slower and faster: two kills for one that came too late.
            patience *= 0.8 if status == 0 else 1.1
            if status == 0:
                break
            assert status == -signal.SIGKILL
            n_killed, disturbed = n_killed + 1, disturbed + 1
        assert _results(out) == expected
        # A kill costs at most the one submission that was under way and not yet recorded.
        assert N_STUDENTS <= len(log.read_text()) <= N_STUDENTS + disturbed
        classes, n_graded = classes + 1, n_graded + len(log.read_text())
    record_property("kills of the grader", n_killed)
    record_property("classes graded to the end", classes)
    record_property(
        "submissions, each recorded once with the undisturbed grade", classes * N_STUDENTS
    )
    record_property("runs of a submission that a kill cut off", n_graded - classes * N_STUDENTS)


@pytest.mark.sandbox
def test_killed_workers_and_sandboxes_change_no_grade(
    toy_course, class_of, tmp_path, record_property
):
    n_kills = max(2, N_KILLS // 2)
    folder = class_of(5 * n_kills)
    grade_class(ReleasedSet(toy_course, "toy"), folder, _settings(tmp_path / "undisturbed", jobs=2))
    rng, graded, killed = random.Random(11), [], []

    def kill_after_every_third(grade, reused):
        graded.append(grade)
        if len(graded) % 3 == 0 and len(killed) < n_kills:
            listed = [process.pid for process in multiprocessing.active_children()]
            # One that was just killed may still be listed.
            worker = rng.choice([pid for pid in listed if Path(f"/proc/{pid}/task").exists()])
            rooms = [pid for pid in _children(worker) if _name(pid) == "bwrap"]
            victim = rng.choice([worker, *rooms])
            killed.append(_name(victim))
            os.kill(victim, signal.SIGKILL)

    settings = _settings(tmp_path / "out", jobs=2)
    result = grade_class(
        ReleasedSet(toy_course, "toy"), folder, settings, Watcher(graded=kill_after_every_third)
    )
    assert len(killed) == n_kills
    assert _results(tmp_path / "out") == _results(tmp_path / "undisturbed")
    assert State.GRADER_FAULT not in result.states
    for name in sorted(set(killed)):
        record_property(f"kills of {name}", killed.count(name))


def _starving(students, between=lambda: None):
    """Let these submissions count as starved the first time; do something before the second."""
    plain, tries = workers.grade_all, []

    def grade_all(job, tasks, n_processes):
        tries.append(sorted(task.submission.student for task in tasks))
        if len(tries) == 2:
            between()
        for task, answer in plain(job, tasks, n_processes):
            if len(tries) == 1 and task.submission.student in students:
                answer = replace(answer, grade=replace(answer.grade, reasons=(STARVED,)))
            yield task, answer

    return grade_all, tries


@pytest.mark.usefixtures("without_sandbox")
def test_grader_killed_between_the_two_tries_of_who_was_starved_loses_nothing(
    toy_course, class_of, tmp_path, log, monkeypatch
):
    folder = class_of(5)
    grade_class(ReleasedSet(toy_course, "toy"), folder, _settings(tmp_path / "undisturbed"))
    starved = ["student-00", "student-03"]
    die = lambda: os.kill(os.getpid(), signal.SIGKILL)  # noqa: E731
    monkeypatch.setattr(run, "grade_all", _starving(starved, die)[0])
    out = tmp_path / "out"
    pid = _fork(toy_course, folder, _settings(out))
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL
    assert set(Journal(out, "toy").students()) == {"student-01", "student-02", "student-04"}

    grade_all, tries = _starving(starved)
    monkeypatch.setattr(run, "grade_all", grade_all)
    log.write_text("")
    result = grade_class(ReleasedSet(toy_course, "toy"), folder, _settings(out))
    assert tries == [starved, starved] and len(log.read_text()) == 4 and result.reused == 3
    assert _results(out) == _results(tmp_path / "undisturbed")


@pytest.mark.sandbox
def test_worker_killed_between_the_two_tries_of_who_was_starved_changes_no_grade(
    toy_course, class_of, tmp_path, monkeypatch
):
    folder = class_of(4)
    starved, killed, fill = ["student-00", "student-01", "student-03"], [], workers.Process.fill
    grade_all, tries = _starving(starved)

    def killed_with_its_first_task(process, left):
        has_work = fill(process, left)
        if len(tries) == 2 and len(killed) < 2:
            killed.append(process._process.pid)
            os.kill(process._process.pid, signal.SIGKILL)
        return has_work

    monkeypatch.setattr(run, "grade_all", grade_all)
    monkeypatch.setattr(workers.Process, "fill", killed_with_its_first_task)
    result = grade_class(
        ReleasedSet(toy_course, "toy"), folder, _settings(tmp_path / "out", jobs=4)
    )
    assert len(set(killed)) == 2 and tries == [[*starved[:2], "student-02", starved[2]], starved]
    assert result.states == {State.GRADED: 4}
    assert [grade.points for grade in result.grades] == [90, 50, 75, 20]


def _children(pid):
    tasks = Path(f"/proc/{pid}/task")
    texts = [(task / "children").read_text() for task in tasks.iterdir()]
    return [int(child) for text in texts for child in text.split()]


def _name(pid):
    return Path(f"/proc/{pid}/comm").read_text().strip()


@pytest.mark.usefixtures("without_sandbox")
def test_full_disk_at_any_write_is_survived(toy_course, class_of, tmp_path, monkeypatch):
    folder = class_of(3)
    grade_class(ReleasedSet(toy_course, "toy"), folder, _settings(tmp_path / "undisturbed"))
    expected = _results(tmp_path / "undisturbed")
    for last in itertools.count():
        out, left = tmp_path / f"out-{last}", iter(range(last))

        def fsync(handle, left=left):
            if next(left, None) is None:
                raise OSError(errno.ENOSPC, "No space left on device")

        with monkeypatch.context() as patched:
            patched.setattr(files.os, "fsync", fsync)
            try:
                grade_class(ReleasedSet(toy_course, "toy"), folder, _settings(out))
                assert last > 12  # 3 copies, 3 records, 3 pages, 3 notebooks, the dashboard
                return
            except GraderError as error:
                assert "No space left on device" in str(error)
                assert "gradebook" not in str(error)  # it is not to blame
        grade_class(ReleasedSet(toy_course, "toy"), folder, _settings(out))
        assert _results(out) == expected
        assert not list(out.rglob(".writing-*"))


@pytest.mark.usefixtures("without_sandbox")
def test_locked_gradebook_stops_the_run_but_loses_no_grade(toy_course, class_of, tmp_path):
    folder, settings = class_of(4), _settings(tmp_path / "out")
    first = grade_class(ReleasedSet(toy_course, "toy"), folder, settings)
    expected = _results(settings.out)
    book = sqlite3.connect(settings.out / "gradebook.db", isolation_level=None)
    book.execute("begin exclusive")
    with pytest.raises(GraderError, match="locked"):
        grade_class(
            ReleasedSet(toy_course, "toy"), folder, _settings(tmp_path / "out", resume=False)
        )
    book.execute("rollback")
    book.close()
    again = grade_class(ReleasedSet(toy_course, "toy"), folder, settings)
    assert again.reused == 4 and _results(settings.out) == expected
    assert again.grades == tuple(
        grade for grade in again.grades if grade.verdicts in [one.verdicts for one in first.grades]
    )


@pytest.mark.usefixtures("without_sandbox")
def test_jumping_clock_changes_no_grade(toy_course, class_of, tmp_path, monkeypatch):
    folder = class_of(5)
    grade_class(ReleasedSet(toy_course, "toy"), folder, _settings(tmp_path / "undisturbed"))
    clock, jumps = time.time, itertools.cycle([0.0, 86_400.0, -86_400.0, 3e8])
    monkeypatch.setattr(time, "time", lambda: clock() + next(jumps))
    result = grade_class(ReleasedSet(toy_course, "toy"), folder, _settings(tmp_path / "out"))
    monkeypatch.undo()
    assert _results(tmp_path / "out") == _results(tmp_path / "undisturbed")
    assert result.seconds >= 0 and all(grade.seconds >= 0 for grade in result.grades)


@pytest.mark.usefixtures("without_sandbox")
def test_two_graders_at_once_leave_one_whole_result(toy_course, class_of, tmp_path, log):
    folder = class_of(15)
    grade_class(ReleasedSet(toy_course, "toy"), folder, _settings(tmp_path / "undisturbed"))
    log.write_text("")
    settings = _settings(tmp_path / "out")
    pids = [_fork(toy_course, folder, settings) for _ in range(2)]
    statuses = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids]
    assert sorted(statuses) in ([0, 3], [0, 0])  # refused, or the first had just finished
    assert _results(tmp_path / "out") == _results(tmp_path / "undisturbed")
    assert len(log.read_text()) == 15
