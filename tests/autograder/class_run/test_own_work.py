"""Learners grade themselves: without a sandbox, and without what only POSIX has."""

import json
import os
import re
import signal
import subprocess
import sys
import webbrowser
from pathlib import Path

import pytest

from autograder.authoring.notebooks import as_text
from autograder.authoring.release import ReleasedSet
from autograder.class_run.own_work import grade_own
from autograder.cli import student_commands
from autograder.grading.endless import Stopped, stop_endless
from autograder.grading.own_process import OwnProcess
from autograder.inside.messages import Failure, ProbeRequest
from autograder.inside.process_limits import Limits
from autograder.records import GraderError, State

# What Windows lacks, taken away from our own code in every process: modules, and names of others.
ELSEWHERE = """
import builtins, multiprocessing, os, select, shutil, signal, socket, subprocess, tempfile

MISSING = {"fcntl", "grp", "pty", "pwd", "resource", "syslog", "termios", "tty"}
real = builtins.__import__

def guarded(name, globals=None, *more, **named):
    if name in MISSING and str((globals or {}).get("__name__", "")).startswith("autograder"):
        raise ModuleNotFoundError(f"no {name} here, for {globals['__name__']}")
    return real(name, globals, *more, **named)

builtins.__import__ = guarded
for module, names in (
    (signal, "SIGPROF SIGALRM SIGXCPU SIGHUP setitimer ITIMER_PROF pthread_sigmask"),
    (os, "fork O_DIRECTORY O_NOFOLLOW O_NONBLOCK setsid pidfd_open waitid WEXITED WNOWAIT mkfifo"),
    (socket, "send_fds recv_fds"),
    (select, "poll epoll"),
):
    for name in names.split():
        delattr(module, name)
"""


def test_mine_needs_nothing_that_only_posix_has(toy_course, toys, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "sitecustomize.py").write_text(ELSEWHERE)
    work = toy_course.top / "work" / "toy"
    work.mkdir(parents=True)
    notebook = toys.answer(toy_course, double=toys.square, mean=toys.mean)
    (work / "toy.ipynb").write_text(as_text(notebook))
    folders = [str(tmp_path / "elsewhere"), str(Path(__file__).parents[3])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(folders)}
    command = [sys.executable, "-m", "autograder", f"--course={toy_course.folder}", "mine", "toy"]
    run = subprocess.run(
        [*command, "--json"], env=environment, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stdout + run.stderr
    graded = json.loads(run.stdout)
    assert graded["items"] == {"toy_double": [20.0, 60.0], "toy_mean": [30.0, 30.0]}
    page = Path(graded["page"]).read_text()
    assert "Twice a number is not its square." in page and "You have graded this yourself." in page


def _ask(target, source="def probe(f, inputs): return f()", seconds=5.0, part="p"):
    return ProbeRequest(f"item of {target}", part, 0, target, source, {}, seconds)


def test_what_ends_the_process_or_never_ends_takes_only_itself_away():
    cells = [
        "import math\ndef good(): return math.pi\ndef leaves(): import os; os._exit(3)",
        "1 / 0",
        "import os; os._exit(7)",
        "n = 0\ndef endless():\n    global n\n    n += 1\n    while True:\n        pass",
        "def calls(): return n",
        "def last(): return [1, 2.5]",
        "def strange(): return object()",
    ]
    names = ("good", "leaves", "endless", "endless", "missing", "strange", "last", "calls")
    with OwnProcess(Limits(cell_seconds=20, wall_factor=100)) as process:
        run = process.run(cells, [_ask(name, seconds=0.2) for name in names])
    values = [seen.value for seen in run.observations]
    assert values[0] == pytest.approx(3.14159, abs=1e-5) and values[6] == [1, 2.5]
    kinds = [value.kind for value in values if isinstance(value, Failure)]
    assert kinds == ["crash", "timeout", "timeout", "missing", "refused"]
    assert values[7] == 1  # the second case of a part that has not ended is not asked
    assert [cell.error for cell in run.cells][:2] == [None, "ZeroDivisionError: division by zero"]
    assert run.cells[2].error.startswith("crash") and not run.tampered


@pytest.mark.parametrize("has_timers", [True, False])
def test_endless_code_is_stopped_with_timers_and_without(has_timers, monkeypatch):
    if not has_timers:
        monkeypatch.delattr(signal, "setitimer")
    with pytest.raises(Stopped), stop_endless(0.2) as stopped:
        while True:
            sum(range(100))
    assert stopped.is_set()
    with stop_endless(30) as stopped:
        pass
    assert not stopped.is_set()


@pytest.fixture
def own(toy_course, toys, tmp_path):
    path = tmp_path / "mine" / "toy.ipynb"
    path.parent.mkdir()
    path.write_text(as_text(toys.answer(toy_course, double=toys.double)))
    return ReleasedSet(toy_course, "toy"), path


def test_page_replaces_an_earlier_one_and_nothing_else(own):
    released, path = own
    page = path.with_name("toy-feedback.html")
    page.write_text("<!doctype html>\nnotes of mine")
    before = path.read_bytes()
    with pytest.raises(GraderError, match=f"{page} is not a page of feedback: move it away"):
        grade_own(released, path)
    assert page.read_text().endswith("notes of mine")
    page.unlink()
    for _ in range(2):
        assert grade_own(released, path).page == page
    assert path.read_bytes() == before and set(path.parent.iterdir()) == {path, page}
    page.write_text(f"{page.read_text()}notes of mine")
    graded = grade_own(released, path)
    (kept,) = set(path.parent.iterdir()) - {path, page}
    assert kept.read_text().endswith("notes of mine") and "notes of mine" not in page.read_text()
    assert graded.kept == kept


def test_terminal_and_page_say_the_same_total(own):
    """What was left as it was earns nothing, in words, too: nobody waits for a person."""
    released, path = own
    graded = grade_own(released, path)
    assert graded.lines[-1].split()[:3] == ["60", "of", "100"]
    assert "still to be given" not in graded.lines[-1]
    text = graded.page.read_text()
    assert re.search(r"60.{,40}of 100 points", text, re.S)


def test_what_is_no_notebook_is_said_in_words(own):
    released, path = own
    path.write_bytes(b"{")
    graded = grade_own(released, path)
    assert graded.grade.state is State.REFUSED and not graded.is_graded
    assert "noticed: the file is not JSON" in "\n".join(graded.lines)


def test_a_browser_is_opened_only_where_somebody_sees_it(monkeypatch):
    monkeypatch.setattr(student_commands.sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(webbrowser, "get", lambda: None)
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setenv("DISPLAY", ":0")
    assert student_commands._has_browser()
    monkeypatch.setenv("CI", "true")
    assert not student_commands._has_browser()
    monkeypatch.delenv("CI")
    monkeypatch.delenv("DISPLAY")
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    assert student_commands._has_browser() is (sys.platform in ("win32", "darwin"))
