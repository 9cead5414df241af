import contextlib
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from autograder.authoring.notebooks import as_text
from autograder.authoring.release import ReleasedSet
from autograder.class_run import fork_server, workers
from autograder.class_run.pipeline import grade_class
from autograder.class_run.result import Watcher
from autograder.class_run.settings import Settings
from autograder.class_run.workers import Job, grade_all, in_order
from autograder.grading.grader import Confinement, Graded, Grader, Task
from autograder.inside.process_limits import Limits
from autograder.records import GraderError, SandboxUnavailable, State, Submission

QUICK = Confinement(Limits(cell_seconds=20, submission_seconds=60))


def _task(student, seed, digest="0"):
    return Task(Submission(student, "toy", b"", digest), f"key of {student}", seed)


def test_tasks_that_share_a_seed_come_in_a_row():
    tasks = [_task("dee", 2), _task("cy", 1), _task("bo", 2), _task("ada", 1)]
    assert [task.submission.student for task in in_order(tasks)] == ["ada", "cy", "bo", "dee"]


def test_queue_keeps_to_a_seed_and_shares_the_last_one():
    queue = workers._Queue([_task(f"{seed}{n}", seed) for seed in (1, 2) for n in range(3)])
    first, second = queue.take(None), queue.take(None)
    assert {first.seed, second.seed} == {1, 2}
    assert [queue.take(first.seed).seed for _ in range(2)] == [first.seed] * 2
    assert queue.take(first.seed).seed == second.seed  # helps the other
    queue.give_back(first)
    assert {queue.take(second.seed).seed, queue.take(second.seed).seed} == {1, 2}
    assert queue.take(1) is None


@pytest.fixture
def job(toy_course, tmp_path):
    return Job(ReleasedSet(toy_course, "toy"), QUICK, tmp_path / "out")


@pytest.fixture
def received(job, toys):
    """A task for an answer that is right, whose copy stands in the journal."""

    def receive(student, seed=7):
        notebook = as_text(toys.answer(job.released.course, toys.double, toys.mean)).encode()
        return _task(student, seed, job.journal.keep(notebook))

    return receive


@pytest.mark.usefixtures("without_sandbox")
def test_copy_that_is_gone_is_a_fault_of_the_grader(job, received):
    good, gone = received("ada"), _task("bo", 7, "f" * 64)
    grades = {task.submission.student: one.grade for task, one in grade_all(job, [good, gone], 1)}
    assert grades["ada"].state is State.GRADED
    assert grades["bo"].state is State.GRADER_FAULT
    assert "the copy of bo's notebook is gone" in grades["bo"].reasons[0]


@pytest.mark.usefixtures("without_sandbox")
def test_refused_file_needs_no_copy(job):
    task = replace(_task("ada", 7, ""), refusal="it is a symbolic link")
    ((_, graded),) = grade_all(job, [task], 1)
    assert graded.grade.state is State.REFUSED


@pytest.mark.slow
@pytest.mark.sandbox
def test_class_outlives_the_death_of_workers(toys, toy_course, hand_in, tmp_path):
    students = [f"student-{number}" for number in range(9)]
    for student in students:
        folder = hand_in(student, double=toys.double, mean=toys.mean)
    killed = []

    def kill_one(grade, reused):
        if len(killed) < 2:
            # One that was just killed may still be listed.
            victim = next(p for p in multiprocessing.active_children() if p.pid not in killed)
            os.kill(victim.pid, signal.SIGKILL)
            killed.append(victim.pid)

    settings = Settings(tmp_path / "out", jobs=2, confinement=QUICK)
    result = grade_class(ReleasedSet(toy_course, "toy"), folder, settings, Watcher(graded=kill_one))
    assert len(set(killed)) == 2
    assert [grade.student for grade in result.grades] == students
    assert {grade.points for grade in result.grades} == {90}


def _at_work_below(pid):
    """Return every process below one that still runs, once student code is among them."""
    found, below = {}, [pid]
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError):
            name, _, fields = (entry / "stat").read_text().rpartition(")")
            state, parent, *_ = fields.split()
            if state != "Z":
                found[int(entry.name)] = (name.partition("(")[2], int(parent))
    for above in below:
        below += [child for child, (_, parent) in found.items() if parent == above]
    is_at_work = any(found[child][0] == "at work" for child in below[1:])
    return below[1:] if is_at_work else []


@pytest.mark.sandbox
def test_killed_grader_takes_every_process_along(toys, toy_course, hand_in, tmp_path):
    # Its process says so by its name, PR_SET_NAME, and stays for two minutes if nobody stops it.
    cell = "import ctypes, time\nctypes.CDLL(None).prctl(15, b'at work')\ntime.sleep(1000)"
    for student in ("ada", "bo"):
        folder = hand_in(student, double=cell, mean=toys.mean)
    command = [sys.executable, "-m", "autograder", f"--course={toy_course.folder}", "grade", "toy"]
    command += [f"--submissions={folder}", f"--out={tmp_path / 'out'}", "--jobs=2"]
    grader = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    below = _wait_until(lambda: _at_work_below(grader.pid))
    grader.kill()
    grader.wait()
    _wait_until(lambda: not any(_is_running(pid) for pid in below), 100)  # or its time has run out


def _wait_until(holds, seconds=600):
    """Wait for a true value and return it; only what hangs takes so many seconds."""
    deadline = time.monotonic() + seconds
    while not (found := holds()):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return found


def _is_running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.fixture
def in_threads(monkeypatch):
    """Let a pool's processes be threads of this one: what they do can then be replaced."""

    class Thread(threading.Thread):
        def __init__(self, target, args, daemon):
            pipe, job = args
            own = Connection(os.dup(pipe.fileno()))  # as a process would have it
            super().__init__(target=target, args=(own, job), daemon=daemon)

        def kill(self):
            pass

    context = type("Context", (), {"Process": Thread, "Pipe": multiprocessing.Pipe})
    monkeypatch.setattr(fork_server, "CONTEXT", context)
    monkeypatch.setattr(fork_server, "prepare", lambda: None)
    monkeypatch.setattr(workers, "_end_with_parent", lambda: None)
    monkeypatch.setattr(workers, "_END_SECONDS", 0.1)


def _serve_until(monkeypatch, dies):
    """Have a process die, its pipe shut, where `dies(task)` says so; None stands for its start."""

    def serve(pipe, job):
        if dies(None):
            return pipe.close()
        with contextlib.suppress(EOFError, ConnectionError):  # the run has ended
            pipe.send(None)
            while not dies(task := pipe.recv()):
                pipe.send(Graded(workers.faulty(task, "graded")))
            pipe.close()

    monkeypatch.setattr(workers, "_serve", serve)


@pytest.mark.usefixtures("in_threads")
def test_submission_that_kills_its_process_is_to_blame_and_no_other(job, monkeypatch):
    _serve_until(monkeypatch, lambda task: task is not None and task.submission.student == "bo")
    tasks = [_task(student, seed) for seed, student in enumerate(["ada", "bo", "cy", "dee"])]
    grades = {one.grade.student: one.grade.reasons[0] for _, one in grade_all(job, tasks, 2)}
    assert grades.pop("bo") == "the grader's process died 3 times"
    assert grades == dict.fromkeys(["ada", "cy", "dee"], "graded")


@pytest.mark.usefixtures("in_threads")
def test_processes_that_cannot_start_end_the_run(job, monkeypatch):
    _serve_until(monkeypatch, lambda task: task is None)
    with pytest.raises(GraderError, match="die before they are ready"):
        list(grade_all(job, [_task("ada", 1), _task("bo", 2)], 2))


@pytest.mark.usefixtures("in_threads")
def test_missing_sandbox_ends_the_run_with_its_reason(job, monkeypatch):
    def refuse(self):
        raise SandboxUnavailable("no bubblewrap here")

    monkeypatch.setattr(Grader, "__enter__", refuse)
    with pytest.raises(SandboxUnavailable, match="no bubblewrap here"):
        list(grade_all(job, [_task("ada", 1), _task("bo", 2)], 2))
