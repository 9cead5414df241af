"""Submissions that attack the grader: each earns nothing and leaves the next one unharmed.

The attacks are texts of cells in `attacks/`; test_attack_classes.py says which classes there are.
The honest submissions do odd things for good reasons and must not suffer.
"""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from autograder.grading.judge import ItemJudge
from autograder.inside.process_limits import Limits
from autograder.sandbox import hoards, submission_run
from autograder.sandbox.sandbox import FORCE_TIER, Sandbox
from tests.autograder.attacks.cheats import CHEATS
from tests.autograder.attacks.harm import HARM
from tests.autograder.attacks.honest import HONEST, NEEDS_NAMESPACES
from tests.autograder.attacks.searches import LEAKS, SEARCHES
from tests.autograder.attacks.toy import (
    CHECK,
    RIGHT,
    WRONG,
    complete,
    grade,
    grade_with_visible_tests,
)

JUDGE = ItemJudge()

pytestmark = pytest.mark.sandbox


def cases(classes):
    """Turn classes of variants into parameters, named by both."""
    return [
        pytest.param(cell, id=f"{name}: {variant}")
        for name, variants in classes.items()
        for variant, cell in variants.items()
    ]


def limits(cell_seconds, wall_factor, memory_bytes):
    times = dict(cell_seconds=cell_seconds, submission_seconds=30, wall_factor=wall_factor)
    return Limits(**times, memory_bytes=memory_bytes, processes=32)


@pytest.fixture(scope="module")
def sandbox():
    """For what must come out: only its CPU time counts, so that a busy machine changes nothing."""
    with Sandbox(limits=limits(1.5, wall_factor=60, memory_bytes=1 << 30)) as sandbox:
        yield sandbox


@pytest.fixture(scope="module")
def clocked():
    """For attacks, which use up whatever they are given; those that wait, the time on the clock.

    What comes next takes milliseconds of at least 2.5 s.
    """
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(submission_run, "_GRACE_SECONDS", 1.0)
        with Sandbox(limits=limits(0.5, wall_factor=5, memory_bytes=256 << 20)) as sandbox:
            yield sandbox


def assert_next_is_unharmed(sandbox):
    server = sandbox._process
    verdict, run = grade(sandbox, RIGHT, seed=8)
    assert verdict.points == 10.0, run
    assert run.problems == ()
    if sandbox._reusable:
        assert sandbox._process is server, "the warm server had to be started again"


@pytest.mark.parametrize("cell", cases(CHEATS) + cases(HARM))
def test_attack_earns_nothing_and_harms_nobody(clocked, cell):
    server = clocked._process
    verdict, run = grade(clocked, complete(cell))
    assert verdict.points == 0.0, run
    assert verdict.fault == ""
    assert "x @ x.T" not in "".join(part.message for part in verdict.parts)
    if clocked._reusable:
        assert clocked._process is server
    assert_next_is_unharmed(clocked)


@pytest.fixture(scope="module")
def scarce():
    """For code that takes memory and waits until it is ended: by the clock that comes late."""
    with Sandbox(limits=limits(10, wall_factor=20, memory_bytes=256 << 20)) as sandbox:
        yield sandbox


@pytest.mark.parametrize("name", hoards.HOARDS)
def test_memory_is_bounded_whatever_holds_it(scarce, name):
    allowed = scarce.limits.memory_bytes
    (cell,) = scarce.run([hoards.hoarding(name, allowed)], []).cells
    assert "HELD" in cell.output or cell.error, cell
    assert "Traceback" not in cell.output, cell
    assert hoards.held(cell) < allowed
    assert_next_is_unharmed(scarce)


@pytest.mark.parametrize("cell", cases(SEARCHES))
def test_search_finds_nothing(sandbox, cell):
    verdict, run = grade(sandbox, WRONG + cell)
    assert "FOUND []" in run.cells[0].output, run.cells[0]
    assert verdict.points == 0.0


@pytest.mark.parametrize("cell", LEAKS.values(), ids=LEAKS.keys())
def test_hidden_test_is_shown_to_nobody(sandbox, cell):
    look = "import os\nprint(os.listdir('.'))"
    read, points = grade_with_visible_tests(sandbox, complete(cell), look, seed=7)
    assert "PROBE" not in read.replace("PROBE hang", "").replace("PROBE look", "")  # visible inputs
    assert (read, points) == grade_with_visible_tests(sandbox, complete(cell), look, seed=8)
    assert points == 0.0


@pytest.mark.parametrize("cell", HONEST.values(), ids=HONEST.keys())
def test_honest_oddity_costs_nothing(sandbox, cell):
    if os.environ.get(FORCE_TIER) == "B" and cell in NEEDS_NAMESPACES:
        pytest.skip("tier B makes no sockets, which this needs")
    verdict, run = grade(sandbox, cell, RIGHT, cell)
    assert verdict.points == 10.0, run
    assert run.problems == ()


def test_attack_does_not_take_other_cells_away(sandbox):
    endings = HARM["ends the process"], HARM["loops that no exception reaches"]
    for cell in (endings[0]["os._exit in a cell"], endings[1]["endless cell in C"]):
        verdict, run = grade(sandbox, RIGHT, cell, "after = 1")
        assert verdict.points == 10.0
        assert run.cells[1].error is not None
        assert run.cells[2].error is None
        assert len(run.problems) == 1


BESIDE = {
    "as many processes as it may have, again and again": """
import os, signal, time
while True:
    children = []
    try:
        while len(children) < 31:
            children.append(os.fork())
            if children[-1] == 0:
                signal.pause()
    except OSError:
        pass
    time.sleep(0.5)
    for child in children:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    time.sleep(0.5)
""",
    "more processes than it may have": """
import os, time
time.sleep(1)
while True:
    try:
        os.fork()
    except OSError:
        pass
""",
}
"""What takes all that it can of what the kernel counts for a user."""
STARTS_OTHERS = """
import subprocess, time
for _ in range(12):
    subprocess.run(["true"], check=True)
    time.sleep(0.1)
print("started")
def gram(x):
    return (x @ x.T) / 3
"""


@pytest.mark.parametrize("cell", BESIDE.values(), ids=BESIDE.keys())
def test_attack_in_another_sandbox_costs_an_honest_submission_nothing(sandbox, cell):
    beside = limits(5, wall_factor=2, memory_bytes=1 << 30)
    with Sandbox(limits=beside) as other, ThreadPoolExecutor(1) as pool:
        attack = pool.submit(other.run, [cell], [])
        while not attack.done():
            verdict, run = grade(sandbox, STARTS_OTHERS)
            assert verdict.points == 10.0, run
            assert (run.cells[0].output, run.problems) == ("started\n", ())


def test_right_answer_that_prints_while_it_is_probed_is_right(sandbox):
    verdict, run = grade(sandbox, "def gram(x):\n    print('PROBE')\n    return x @ x.T / 3")
    assert verdict.points == 10.0
    assert run.cells[0].output == ""


def test_nothing_of_one_submission_is_left_for_the_next(sandbox):
    leave = (
        "import os, torch, builtins, tempfile\n"
        "for folder in ('/tmp', '/dev/shm', '.', tempfile.gettempdir()):\n"
        "    try: open(f'{folder}/left-behind', 'w')\n"
        "    except OSError: pass\n"
        "os.makedirs('closed/deep')\nos.mkdir('shut', 0)\n"
        "builtins.left = 1; torch.left = 1; os.environ['LEFT'] = '1'; get_ipython().left = 1\n"
    )
    look = (
        "import os, torch, builtins, tempfile\n"
        "print('FOUND', os.listdir('.'),\n"
        "      *(os.path.exists(f'{d}/left-behind') for d in ('/tmp', '/dev/shm')),\n"
        "      os.listdir(tempfile.gettempdir()),\n"
        "      hasattr(builtins, 'left'), hasattr(torch, 'left'), 'LEFT' in os.environ,\n"
        "      hasattr(get_ipython(), 'left'))"
    )
    grade(sandbox, leave)
    _, run = grade(sandbox, look)
    assert run.cells[0].output == "FOUND [] False False [] False False False False\n"


def test_secrets_of_this_machine_are_out_of_sight(sandbox, tmp_path):
    secret = tmp_path / "gradebook.db"
    secret.write_text("nobody may read this")
    secret.chmod(0o644)
    paths = [str(secret), str(Path(__file__)), "/etc/shadow", os.path.expanduser("~/.bashrc")]
    cell = f"for p in {paths}:\n    try: print('READ', open(p).read())\n    except OSError: pass"
    _, run = grade(sandbox, cell)
    assert "READ" not in run.cells[0].output


def test_inputs_differ_between_students_and_not_between_runs():
    one, again, other = (JUDGE.requests(CHECK, seed)[1].inputs["x"] for seed in (1, 1, 2))
    assert np.array_equal(one, again)
    assert not np.array_equal(one, other)
