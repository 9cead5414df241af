"""The attacks that user and tier must stop, by each command that runs what a class hands in.

A class of attackers and one honest student: the commands share the sandbox, but what surrounds it,
which cells are run and what is made of them differs.
"""

import os
import signal
import subprocess
import sys
import time

import pytest
from click.testing import CliRunner

from autograder.authoring.release import ReleasedSet
from autograder.class_run.leaderboard import make_leaderboard
from autograder.class_run.pipeline import grade_class
from autograder.class_run.settings import Settings
from autograder.cli.main import main
from autograder.records import State
from autograder.store.journal import Journal
from tests.autograder import nbgrader_course as nb
from tests.autograder.attacks.harm import HARM
from tests.autograder.attacks.searches import SEARCHES
from tests.autograder.users import ROOT

pytestmark = [pytest.mark.sandbox, pytest.mark.slow]

# Those that end soon: what meets a limit of time meets the same one by every command.
SOON = "ends the process", "kills others", "disk bombs", "output bombs", "outlives grading"
ALL = {
    f"{name}: {variant}": cell
    for name, variants in (SEARCHES | {name: HARM[name] for name in SOON}).items()
    for variant, cell in variants.items()
}
FEW = ("kills others: kill everything in a cell", "reads files: secrets", "network: TCP")
HONEST = "honest"


@pytest.fixture(params=[pytest.param(ALL, marks=pytest.mark.exhaustive, id="all"), FEW])
def attackers(request):
    """Each attacker's name and cell."""
    return {f"attacker{n:03}": ALL[name] for n, name in enumerate(request.param)}


def wrong(function, cell):
    """A wrong answer with an attack; one that waits to be called is."""
    called = "if 'gram' in globals(): gram(x)"
    return f"{cell}\ndef {function}(x):\n    {called}\n    return None"


def assert_only_honest(journal, attackers, points):
    for student, cell in attackers.items():
        grade = journal.read(student).grade
        assert grade.state in (State.GRADED, State.GRADED_WITH_PROBLEMS, State.TAMPERED), student
        assert grade.points == 0, (student, cell)
        printed = "".join(result.output for result in grade.cells)
        assert "FOUND" not in printed.replace("FOUND []", ""), (printed, cell)
    honest = journal.read(HONEST).grade
    assert (honest.state, honest.points) == (State.GRADED, points)


def adopted(folder):
    """A course for nbgrader of two cells."""
    cells = [
        ("squares_answer", nb.ANSWER, nb.CELLS[2][2]),
        ("squares", nb.tests(4), "assert squares(3) == [0, 1, 4]"),
    ]
    (folder / "nbgrader_config.py").write_text("get_config().Execute.timeout = 2")
    return nb.make_course(folder, cells=cells)


def test_attacks_are_stopped_in_a_course_for_nbgrader(tmp_path, attackers):
    course = adopted(tmp_path)
    nb.hand_in(course, HONEST)
    for student, cell in attackers.items():
        nb.hand_in(course, student, squares_answer=wrong("squares", cell))
    done = CliRunner().invoke(main, ["grade", "hw1", "--nbgrader", str(course), "--jobs", "2"])
    assert done.exit_code in (0, 4), done.output
    assert_only_honest(Journal(course, "hw1"), attackers, 4)


FAST = "def fast(numbers):\n    return [2 * n for n in numbers]\n"
CHALLENGE = """
from dataclasses import replace
from autograder.authoring.checks import Challenge

_PART = Part("values", "Right.", _numbers, _ask)
_FAST = Check("toy_challenge", 1.0, "fast", _double, (_PART,), seconds=2.0)
PROBLEM_SET = replace(PROBLEM_SET, challenge=Challenge("Double.", _FAST, "ours"))
"""


def test_attacks_are_stopped_on_a_leaderboard(toys, toy_course, hand_in, tmp_path, attackers):
    source = toy_course.folder / "toy" / "notebook.py"
    source.write_text(f'{source.read_text()}\n# %% tags=["workshop"]\n{FAST}')
    checks = source.with_name("problem_set.py")
    checks.write_text(checks.read_text() + CHALLENGE)
    settings = '[leaderboard]\nsets = ["toy"]\n\n[sets.toy]\nseconds = 10\n'
    (toy_course.folder / "course.toml").write_text(settings)
    for student, cell in {**attackers, HONEST: ""}.items():
        notebook = toys.answer(toy_course, double=toys.double)
        own = wrong("fast", cell) if cell else f"{FAST}# by hand"
        notebook.cells[-1].source = own
        folder = hand_in(student, notebook)
    settings = Settings(tmp_path / "out", jobs=2)
    grade_class(ReleasedSet(toy_course, "toy"), folder, settings)
    board = make_leaderboard(ReleasedSet(toy_course, "toy"), settings)
    assert {entry.student for entry in board.ranked} == {"", HONEST}
    assert {entry.student for entry in board.unranked} == attackers.keys()
    page = board.page.read_text()
    assert "FOUND" not in page and "attacker" not in page


def test_attacks_are_stopped_while_a_folder_is_watched(
    toys, toy_course, hand_in, tmp_path, attackers
):
    """Hostile files come one after the other, among them what is no file; then an honest one."""
    (toy_course.folder / "course.toml").write_text("[sets.toy]\nseconds = 10\n")
    out, folder = tmp_path / "out", tmp_path / "class"
    command = [sys.executable, "-m", "autograder", f"--course={toy_course.folder}", "grade", "toy"]
    command += [f"--submissions={folder}", f"--out={out}", "--watch", "--json", "--jobs=2"]
    log = tmp_path / "log"
    with open(log, "w") as file:
        # Whoever starts the tests in the background has Ctrl-C ignored, and so has each child.
        watching = subprocess.Popen(
            command, cwd=ROOT, stdout=file, stderr=file,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )  # fmt: skip
    try:
        os.mkfifo(folder / "fifo.ipynb")
        (folder / "link.ipynb").symlink_to("/etc/shadow")
        (folder / "folder.ipynb").mkdir()
        with open(os.path.join(os.fsencode(folder), b"name\xff.ipynb"), "wb") as file:
            file.write(b"[" * 100_000)
        for student, cell in attackers.items():
            hand_in(student, double=wrong("double", cell), mean="mean = None")
        hand_in(HONEST, double=toys.double, mean=toys.mean)
        journal, waiting = Journal(out, "toy"), {*attackers, HONEST}
        while waiting := {student for student in waiting if journal.read(student) is None}:
            assert watching.poll() is None, log.read_text()
            time.sleep(0.5)
    finally:
        watching.send_signal(signal.SIGINT)
        try:
            watching.wait(300)
        finally:
            watching.kill()
    assert_only_honest(journal, attackers, 90)
    assert watching.returncode in (0, 4), log.read_text()
