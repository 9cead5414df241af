"""A control group for the processes of a submission: as files, and where the kernel allows one."""

import functools
import os
import time
from pathlib import Path

import pytest

from autograder.inside.messages import ProbeRequest
from autograder.inside.process_limits import Limits
from autograder.sandbox import cgroup, sandbox
from autograder.sandbox.cgroup import make_control_group
from autograder.sandbox.sandbox import Sandbox

LIMITS = Limits(memory_bytes=1 << 30, disk_bytes=1 << 20, processes=7)
FILES = ("memory.max", "memory.swap.max", "memory.oom.group", "pids.max", "cgroup.kill")
# The child is one for which its parent does not wait, so that it is counted among nobody's.
HIDDEN = """
import os, signal, time
def f():
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    if os.fork() == 0:
        while time.process_time() < 0.5:
            pass
        os._exit(0)
    try:
        os.wait()  # until no child is left
    except ChildProcessError:
        pass
"""
DAEMON = """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(60)
    os._exit(0)
"""


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """Make a folder pass for a machine whose kernel has groups; return the one above ours."""
    monkeypatch.setattr(cgroup, "_PROCESS", tmp_path)
    above = tmp_path / "mounted" / "user.slice"
    (above / "run.scope").mkdir(parents=True)
    (tmp_path / "cgroup").write_text("1:name=systemd:/else\n0::/user.slice/run.scope\n")
    mounted = tmp_path / "mounted"
    (tmp_path / "mountinfo").write_text(
        "30 23 0:27 / / rw - ext4 /dev/vda rw\n"
        f"31 24 0:28 /other {mounted} rw - cgroup2 cgroup2 rw\n"
        f"32 24 0:28 / {mounted} rw,nosuid shared:9 - cgroup2 cgroup2 rw\n"
    )
    (above / "run.scope" / "cgroup.subtree_control").write_text("")
    (above / "cgroup.subtree_control").write_text("cpu memory pids\n")
    mkdtemp = cgroup.tempfile.mkdtemp

    def make(**given):
        folder = mkdtemp(**given)
        if given["prefix"] != "autograder-":
            return folder
        for name in (*FILES, "cgroup.procs"):
            Path(folder, name).touch()
        Path(folder, "cpu.stat").write_text("usage_usec 1500000\nuser_usec 1\n")
        Path(folder, "memory.events").write_text("high 0\noom_kill 0\n")
        return folder

    monkeypatch.setattr(cgroup.tempfile, "mkdtemp", make)
    return above


def _empty(folder):
    for path in folder.iterdir():
        path.unlink()


def test_group_is_made_where_memory_and_processes_are_passed_on(machine):
    group = make_control_group(LIMITS)
    (folder,) = machine.glob("autograder-*")
    written = [(folder / name).read_text() for name in FILES]
    assert written == [str((1 << 30) + 3 * (1 << 20)), "0", "1", "7", ""]
    assert group.cpu_seconds() == 1.5
    assert not group.ran_out_of_memory()
    (folder / "memory.events").write_text("high 0\noom_kill 2\n")
    assert group.ran_out_of_memory() and not group.ran_out_of_memory()
    group.kill()
    assert (folder / "cgroup.kill").read_text() == "1"
    _empty(folder)
    group.close()
    assert not folder.exists()


def test_group_of_a_killed_run_is_deleted_and_that_of_another_is_not(machine):
    (machine / "autograder-killed").mkdir()
    first = make_control_group(LIMITS)
    (folder,) = machine.glob("autograder-*")
    _empty(folder)
    second = make_control_group(LIMITS)
    assert len(list(machine.glob("autograder-*"))) == 2 and folder.exists()
    for group in (first, second):
        _empty(group._folder)
        group.close()
    assert list(machine.glob("autograder-*")) == []


@pytest.mark.parametrize("broken", ["no controller", "no limit", "version 1", "no /proc"])
def test_no_group_where_it_could_not_limit(machine, tmp_path, monkeypatch, broken):
    if broken == "no controller":
        (machine / "cgroup.subtree_control").write_text("cpu pids\n")
    elif broken == "no limit":
        monkeypatch.setattr(cgroup.tempfile, "mkdtemp", lambda **given: _made(given["dir"]))
    elif broken == "version 1":
        (tmp_path / "cgroup").write_text("4:memory:/user.slice/run.scope\n")
    else:
        (tmp_path / "mountinfo").unlink()
    assert make_control_group(LIMITS) is None
    assert list(machine.glob("autograder-*")) == []


def _made(parent):
    folder = parent / "autograder-x"
    folder.mkdir()
    return str(folder)


@pytest.mark.sandbox
def test_processes_of_a_submission_are_counted_and_killed_in_a_group_of_the_kernel(monkeypatch):
    """With whatever this machine's kernel limits: counting and killing need no controller."""
    make = functools.partial(make_control_group, controllers=())
    monkeypatch.setattr(cgroup.ControlGroup, "_write", _write_if_there)
    group = make(LIMITS)
    if group is None:
        pytest.skip("this user may not make a cgroup of version 2 here")
    folder = group._folder
    group.close()
    assert not folder.exists()
    monkeypatch.setattr(sandbox, "make_control_group", make)
    call = "def probe(f, inputs):\n    return f()\n"
    ask = ProbeRequest("i", "p", 0, "f", call, {}, 9.0)
    with Sandbox(libraries=()) as box:
        if box._group is None:
            pytest.skip("the kernel lets nobody into a cgroup of version 2 here")
        folder = box._group._folder
        assert box.isolation.endswith("memory of all processes together limited by a cgroup")
        run = box.run([HIDDEN], [ask], counts_cpu=True)
        assert 0.5 <= run.probe_cpu_seconds < 0.9, run
        box.run([DAEMON], [])
        deadline = time.monotonic() + 60
        while (folder / "cgroup.procs").read_text():  # they are killed, and go when they are reaped
            assert time.monotonic() < deadline
            time.sleep(0.01)
        monkeypatch.setattr(box._group, "ran_out_of_memory", lambda: True)
        cell = box.run(["import os\nos._exit(1)"], []).cells[0]
        assert cell.error == "memory: more memory was used than is allowed"
    assert not folder.exists()


def _write_if_there(group, name, value, write=cgroup.ControlGroup._write):
    if (group._folder / name).exists():
        write(group, name, value)


@pytest.mark.sandbox
def test_group_that_lets_nobody_in_is_left(monkeypatch, machine):
    """What is no kernel's group takes the number that enters it for text."""
    monkeypatch.setattr(cgroup.ControlGroup, "cpu_seconds", lambda group: 0.0)
    monkeypatch.setattr(cgroup, "_REMOVE_SECONDS", 0.0)
    with Sandbox(libraries=()) as box:
        assert box.isolation.endswith("memory of all processes together checked ten times a second")
        assert box.run(["print(6 * 7)"], []).cells[0].output == "42\n"
    (folder,) = machine.glob("autograder-*")
    assert set((folder / "cgroup.procs").read_text()) == {"0"}
    assert os.path.exists(folder)
