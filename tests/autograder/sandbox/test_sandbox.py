import contextlib
import os
import select
import signal
import subprocess
import sys
import time

import pytest
import torch

from autograder.inside import process_limits, wire
from autograder.inside.messages import Failure, ProbeRequest
from autograder.inside.process_limits import Limits
from autograder.records import SandboxUnavailable
from autograder.sandbox import bubblewrap
from autograder.sandbox.sandbox import Sandbox
from tests.autograder.attacks.cheats import CHEATS

pytestmark = pytest.mark.sandbox
CALL = "def probe(f, inputs):\n    return f(**inputs)\n"


def request(target="f", item="i", part="p", case=0, seconds=2.0, **inputs):
    return ProbeRequest(item, part, case, target, CALL, inputs, seconds)


def values(run):
    return [observation.value for observation in run.observations]


@pytest.fixture(scope="module")
def sandbox():
    """Its limits are of computing; by the clock, nothing that goes well ends on a busy machine."""
    limits = Limits(cell_seconds=2, submission_seconds=8, wall_factor=30, output_bytes=1000)
    with Sandbox(limits=limits) as sandbox:
        yield sandbox


@pytest.fixture(scope="module")
def brief():
    """Give little time to compute, but much on the clock, since this machine may be busy."""
    limits = Limits(cell_seconds=0.15, submission_seconds=1.2, wall_factor=20)
    with Sandbox(limits=limits, libraries=()) as sandbox:
        yield sandbox


def test_isolation_is_named(sandbox):
    assert sandbox.isolation.startswith("tier A: bubblewrap")


def test_cells_share_a_namespace_and_a_failing_one_stops_nothing(sandbox):
    run = sandbox.run(["x = 2", "1 / 0", "print(x)", "x + 1"], [])
    assert [cell.index for cell in run.cells] == [0, 1, 2, 3]
    assert run.cells[1].error == "ZeroDivisionError: division by zero"
    assert "ZeroDivisionError" in run.cells[1].output
    assert run.cells[2].output == "2\n"
    assert run.cells[3].output.endswith("3\n")
    assert run.problems == ()


def test_probe_returns_what_the_function_returns(sandbox):
    x = torch.arange(6.0).reshape(2, 3)
    run = sandbox.run(["def f(x): return {'sum': x.sum(1), 'n': len(x)}"], [request(x=x)])
    (value,) = values(run)
    assert value["n"] == 2 and torch.equal(value["sum"], torch.tensor([3.0, 12.0]))


def test_observations_come_in_the_order_of_the_requests(sandbox):
    cells = ["def f(x): return x", "def g(x): return -x"]
    requests = [request("f", "a", x=1), request("g", "b", x=2), request("f", "c", x=3)]
    assert values(sandbox.run(cells, requests)) == [1, -2, 3]


BURN = """
import os, signal, time
def burn():
    end = time.process_time() + 0.4
    while time.process_time() < end: pass
"""
CHILD = """
import threading
def f(way):
    if way == "thread":
        thread = threading.Thread(target=burn)
        thread.start()
        return thread.join()
    if way == "ignored":
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    reader, writer = os.pipe()
    if os.fork() == 0:
        if way == "orphan" and os.fork() != 0:
            os._exit(0)
        burn()
        os._exit(0)
    os.close(writer)
    os.read(reader, 1)
"""


def test_cpu_time_of_probes_is_counted_from_outside():
    limits = Limits(cell_seconds=2, submission_seconds=8, keeps_children=True)
    with Sandbox(limits=limits, libraries=()) as sandbox:
        own = "def f(): burn(); time.process_time = os.times = lambda: 0.0"
        run = sandbox.run([BURN, "burn()", own], [request(seconds=9.0)], counts_cpu=True)
        assert 0.3 < run.probe_cpu_seconds < 0.75  # without the cell's; ticks of 0.01
        for way in ("child", "orphan", "thread"):  # none of them is waited for but the thread
            run = sandbox.run([BURN, CHILD], [request(way=way, seconds=9.0)], counts_cpu=True)
            assert values(run) == [None] and run.probe_cpu_seconds > 0.3, way
        # The kernel would forget a child whose parent ignores its end; so nobody may.
        (value,) = values(sandbox.run([BURN, CHILD], [request(way="ignored")]))
        assert value.kind == "exception" and "PermissionError" in value.message
        assert sandbox.run([BURN, own], [request()]).probe_cpu_seconds == 0.0


def test_missing_name_is_a_failure(sandbox):
    (value,) = values(sandbox.run([], [request(x=1)]))
    assert value == Failure("missing", "f is not defined")


def test_one_item_does_not_see_what_another_did(sandbox):
    cells = ["seen = []\ndef f(x):\n    seen.append(x)\n    return list(seen)"]
    requests = [request(item="a", x=1), request(item="a", x=2, case=1), request(item="b", x=3)]
    assert values(sandbox.run(cells, requests)) == [[1], [1, 2], [3]]


def test_crash_takes_one_case_only(sandbox):
    cells = ["import os\ndef f(x):\n    if x == 1: os.kill(os.getpid(), 9)\n    return x"]
    run = sandbox.run(cells, [request(case=x, x=x) for x in range(3)])
    assert values(run)[0] == 0 and values(run)[2] == 2
    assert values(run)[1].kind == "crash" and run.problems == ()


def test_endless_call_fails_the_later_cases_of_its_part_at_once(sandbox):
    cells = ["def f(x):\n    while x: pass\n    return x"]
    requests = [request(case=case, seconds=0.5, x=1) for case in range(50)]
    run = sandbox.run(cells, [*requests, request(part="q", x=0)])
    assert {value.kind for value in values(run)[:50]} == {"timeout"}
    assert values(run)[50] == 0


def test_endless_call_takes_time_from_its_own_item_only(brief):
    cells = ["def f(x):\n    while True: pass", "def g(x):\n    return x"]
    parts = [request("f", "f", f"part {n}", seconds=0.5, x=n) for n in range(8)]
    found = values(brief.run(cells, [*parts, request("g", "g", x=1)]))
    assert found[0].kind == "timeout" and found[7].kind == "late"  # 8 parts are too many
    assert found[8] == 1


def test_time_limit_counts_computing_and_ends_waiting_later(brief):
    assert Limits().wall_factor == 5  # as SECURITY.md says; here it is more
    cells = [
        "import time",
        "def f(x):\n    time.sleep(x)\n    return x",
        "def g(x):\n    while x: pass\n    return x",
    ]
    requests = [
        request(part="a short wait", seconds=0.1, x=0.2),  # longer than the limit, on the clock
        request(part="a long wait", seconds=0.1, x=600.0),
        request(part="a long wait", seconds=0.1, x=0.0, case=1),
        request("g", part="no wait", seconds=0.1, x=1),
    ]
    short, long, later, endless = values(brief.run(cells, requests))
    assert short == 0.2
    assert long.kind == later.kind == "waiting" and "has not computed" in long.message
    assert endless.kind == "timeout"


def test_cells_end_at_a_time_that_they_compute_or_much_later(brief):
    cells = ["import time\ntime.sleep(0.6)", "time.sleep(600)", "while True: pass", "print('next')"]
    run = brief.run(cells, [])
    assert run.cells[0].error is None
    assert "has not computed" in run.cells[1].error
    assert run.cells[2].error == "TimeLimitError: the time limit of this cell was exceeded"
    assert run.cells[3].output == "next\n"


def test_cell_that_no_exception_reaches_ends_by_the_time_that_it_computes(brief):
    run = brief.run(["sum(range(10 ** 12))", "print('next')"], [])
    assert run.cells[0].error == "timeout: the time limit was exceeded"
    assert run.problems == ("cell 0 was left out: the time limit was exceeded",)


def test_whole_submission_has_a_time_to_compute():
    """However long the children take for it: their parent waits, which has a limit of its own."""
    limits = Limits(cell_seconds=0.15, submission_seconds=1.2, wall_factor=1000)
    in_children = """
import os
for _ in range(8):
    if os.fork() == 0:
        while True: pass
os.wait()
"""
    with Sandbox(limits=limits, libraries=()) as patient:
        run = patient.run(["print('first')", in_children, "print('next')"], [request(x=1)])
    assert run.cells[0].output == "first\n"
    assert run.cells[1].error == "late: the time limit of the whole submission was exceeded"
    assert run.cells[2].error == "this cell was not run"
    assert values(run)[0].kind == "late"


def test_whole_submission_has_a_deadline():
    limits = Limits(cell_seconds=1, submission_seconds=1, wall_factor=2)
    with Sandbox(limits=limits, libraries=()) as sandbox:
        run = sandbox.run(["import time"] + ["time.sleep(0.9)"] * 4, [request(x=1)])
    assert len(run.cells) == 5
    assert run.cells[4].error == "this cell was not run"
    assert values(run)[0].kind == "late"


def test_output_is_cut_and_the_cut_is_named(sandbox):
    run = sandbox.run(["print('é' * 5000)", "print('short')"], [])
    assert run.cells[0].output.endswith("[9001 more bytes were printed]")
    assert run.cells[1].output == "short\n"


def test_neither_the_grader_nor_the_package_can_be_imported(sandbox):
    run = sandbox.run(["import course_pkg", "import autograder.grading.judge"], [])
    assert all(cell.error.startswith("ModuleNotFoundError") for cell in run.cells)


def test_recording_a_cell_imports_nothing_that_the_server_could_have_imported():
    code = (
        "import sys; from autograder.inside.shell import make_shell; shell = make_shell();"
        "before = set(sys.modules); shell.run_cell('1', store_history=True);"
        "late = set(sys.modules) - before; assert not late, late"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=300)


def test_known_answer_is_not_decoded(sandbox):
    stands_for_5 = object()
    known = {wire.encode({"value": 5}): {"value": stands_for_5}}
    run = sandbox.run(
        ["def f(x): return x"], [request(x=5), request(case=1, x=6), request(case=2, x=5.0)], known
    )
    assert values(run) == [stands_for_5, 6, 5.0]


@pytest.mark.parametrize(
    "variant",
    ["a value on every descriptor", "a well-formed value", "a daemon that answers first"],
)
def test_messages_that_student_code_sends_are_noticed(sandbox, variant):
    cell = CHEATS["forged or erased outputs"][variant]
    cell += "" if "def gram" in cell else "\ndef gram(x): return x"
    run = sandbox.run([cell], [request("gram", x=1), request("gram", case=1, x=2)])
    assert run.tampered
    assert "messages out of the sandbox were tampered with" in run.problems


def test_time_limit_while_a_large_value_is_sent_is_not_taken_for_tampering(sandbox):
    cells = ["import time\ndef f(x):\n    time.sleep(x)\n    return bytes(60 << 20)"]
    # So long a wait that the clock's limit, thirty times 0.02 seconds, may end it anywhere.
    requests = [request(item=str(case), seconds=0.02, x=0.50 + 0.02 * case) for case in range(6)]
    run = sandbox.run(cells, requests)
    assert not run.tampered and not any("tampered" in problem for problem in run.problems)


def test_library_that_is_not_held_ready_can_be_imported():
    loaded = "import sys\nprint(*(name in sys.modules for name in ('torch', 'tqdm')))"
    with Sandbox(libraries=()) as sandbox:
        run = sandbox.run([loaded, "import tqdm.auto", loaded], [])
    assert [cell.output for cell in run.cells] == ["False False\n", "", "False True\n"]


def test_dead_server_is_started_again_and_costs_the_student_nothing():
    with Sandbox(libraries=()) as sandbox:
        assert sandbox._process is not None
        os.kill(sandbox._process.pid, signal.SIGKILL)
        sandbox._process.wait()
        run = sandbox.run(["def f(x): return x"], [request(x=5)])
    assert values(run) == [5]
    assert run.problems == ("the sandbox ended and was started again",)


STAYS = """
import os, time
for _ in range(3):  # each leaves its parent, its session and its group
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            while True: time.sleep(60)
        os._exit(0)
    os.wait()
print("started")
"""


def test_every_process_of_a_submission_has_ended_before_the_next_one():
    with Sandbox(libraries=()) as sandbox:
        sandbox.run(["x = 1"], [])
        before = len(process_limits.descendants(sandbox._process.pid))
        assert sandbox.run([STAYS], []).cells[0].output == "started\n"
        deadline = time.monotonic() + 60  # what is killed goes when it is reaped
        while len(process_limits.descendants(sandbox._process.pid)) > before:
            assert time.monotonic() < deadline
            time.sleep(0.01)


def test_nothing_is_left_running_or_lying_about():
    with Sandbox(libraries=()) as sandbox:
        process, folder = sandbox._process, sandbox._folder
        assert folder.is_dir()
    assert process.poll() is not None
    assert not folder.exists()


def test_unsandboxed_run_says_so():
    with Sandbox(allow_unsandboxed=True) as sandbox:
        run = sandbox.run(["def f(x): return x + 42"], [request(x=1)])
        assert sandbox.isolation.startswith("none")
    assert values(run) == [43]


def killing(monkeypatch, n_times):
    """Kill the next servers while they start; return the list of all that were started."""
    plain, started = Sandbox._handshake, []

    def handshake(self, settings):
        started.append(self._tier)
        if len(started) > n_times:
            return plain(self, settings)
        self._process.kill()
        return {}  # what is read where nobody writes any more

    monkeypatch.setattr(Sandbox, "_handshake", handshake)
    return started


def test_server_that_is_killed_while_it_starts_is_started_again(monkeypatch):
    started = killing(monkeypatch, 2)
    with Sandbox(libraries=()) as sandbox:
        assert sandbox.run(["print('here')"], []).cells[0].output == "here\n"
        assert sandbox.refused == {}, "a worse tier was chosen, or one was found to leak"
    assert len(started) == 3


def test_nothing_is_left_of_a_server_that_is_killed_before_it_lets_its_child_go_on(monkeypatch):
    """To the pipe, which is full, it would write before that, and so it never does."""
    plain_command, plain_start = bubblewrap.bubblewrap_command, subprocess.Popen
    reading, full = os.pipe()
    os.set_blocking(full, False)
    with contextlib.suppress(BlockingIOError):
        while os.write(full, bytes(1 << 16)):
            pass
    os.set_blocking(full, True)

    def command(*arguments):
        program, *rest = plain_command(*arguments)
        return [program, "--info-fd", str(full), *rest]

    def start(command, pass_fds=(), **options):
        return plain_start(command, pass_fds=[*pass_fds, full], **options)

    def handshake(self, settings):
        while not (children := process_limits.descendants(self._process.pid)):
            time.sleep(0.001)
        left.extend(os.pidfd_open(child) for child in children)
        self._process.kill()
        return {}

    left = []
    monkeypatch.setenv("AUTOGRADER_TIER", "A")
    monkeypatch.setattr(bubblewrap, "bubblewrap_command", command)
    monkeypatch.setattr(subprocess, "Popen", start)
    monkeypatch.setattr(Sandbox, "_handshake", handshake)
    try:
        with pytest.raises(SandboxUnavailable), Sandbox():
            pass
        assert left
        for child in left:  # readable once it has ended
            assert select.select([child], [], [], 30)[0], "it waits for ever"
    finally:
        for each in (reading, full, *left):
            os.close(each)


def test_server_that_never_lives_is_reported(monkeypatch):
    killing(monkeypatch, 1000)
    with pytest.raises(SandboxUnavailable, match="it does not start"), Sandbox():
        pass
