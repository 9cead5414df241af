"""A container by an OCI runtime: the same worker, the same attacks, one option."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from autograder.inside import process_limits
from autograder.inside.process_limits import Limits
from autograder.records import GraderError, SandboxUnavailable
from autograder.sandbox import container, mounts
from autograder.sandbox.container import RUNTIMES, Container
from autograder.sandbox.doctor import run_escape_attempts
from autograder.sandbox.sandbox import Sandbox
from tests.autograder.users import ATTACKS, NOBODY, ROOT, run_tests

pytestmark = pytest.mark.sandbox


@pytest.fixture(params=RUNTIMES)
def runtime(request):
    """A runtime that works on this machine at all."""
    program = shutil.which(request.param)
    if program is None:
        pytest.skip(f"{request.param} is not installed")
    if request.param == "crun":
        unified = Path("/sys/fs/cgroup/unified/cgroup.controllers")
        if unified.exists() and unified.read_text().strip():
            pytest.skip("crun works on no machine that has cgroups of both versions")
    return request.param


def all_end(pids):
    """Wait for processes to end; whoever should wait for them may leave them as zombies."""
    deadline = time.monotonic() + 120
    while left := [pid for pid in pids if is_running(pid)]:
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return not left


def is_running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


# ------------------------------------------------------------------ where a runtime is installed
def test_one_submission_after_another_is_run_in_it_and_nothing_is_left(runtime):
    with Sandbox(libraries=(), container=runtime) as sandbox:
        assert sandbox.isolation.startswith(f"tier C: {RUNTIMES[runtime]}, ")
        first = sandbox.run(["open('/tmp/left', 'w').close()\nprint(6 * 7)"], [])
        second = sandbox.run(["import os, sys\nprint(os.listdir('/tmp'), sys.stdin.read())"], [])
        folder, server = sandbox._folder, sandbox._process.pid
        below = process_limits.descendants(server)
    assert first.cells[0].output == "42\n" and second.cells[0].output == "[] \n"
    assert first.problems == second.problems == ()
    assert below and not folder.exists()
    assert all_end(below)


def test_every_escape_attempt_is_stopped_in_it(runtime):
    report = run_escape_attempts(runtime)
    assert report.ok, (report.problem, report.escaped)
    assert report.isolation.startswith("tier C") and report.refused == {}


@pytest.mark.exhaustive
@pytest.mark.skipif(os.getuid() != 0, reason="needs root, to become another user")
def test_attacks_are_stopped_in_a_container_of_an_ordinary_user(runtime):
    assert "skipped" not in run_tests(NOBODY, *ATTACKS, AUTOGRADER_TIER=runtime)


UNTIL_KILLED = """
import sys, time
from autograder.inside import process_limits
from autograder.sandbox.sandbox import Sandbox
with Sandbox(libraries=(), container=sys.argv[1]) as sandbox:
    print(*process_limits.descendants(sandbox._process.pid), flush=True)
    time.sleep(60)
"""


def test_container_ends_with_a_grader_that_is_killed(runtime):
    grader = subprocess.Popen(
        [sys.executable, "-c", UNTIL_KILLED, runtime],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
    )
    with grader:
        below = list(map(int, grader.stdout.readline().split()))
        assert any(map(is_running, below))
        grader.send_signal(signal.SIGKILL)
    assert all_end(below)


# ------------------------------------------------------------------ everywhere
def test_runtime_that_is_not_known_or_not_installed_is_named(monkeypatch, tmp_path):
    with pytest.raises(GraderError, match="container is 'docker'; it must be one of runsc, crun"):
        Container("docker", tmp_path)
    monkeypatch.setattr(container.shutil, "which", lambda name: None)
    with (
        pytest.raises(SandboxUnavailable, match=r"tier C: runsc is not installed\. Or grade with"),
        Sandbox(container="runsc"),
    ):
        pass


@pytest.fixture
def installed(monkeypatch):
    """Every runtime stands where nothing is run."""
    monkeypatch.setattr(container.shutil, "which", lambda name: f"/opt/{name}")


def test_configuration_hides_what_is_private_and_limits_what_can_be_written(
    monkeypatch, tmp_path, installed
):
    (tmp_path / "usr/course").mkdir(parents=True)
    (tmp_path / "usr/course.db").touch()
    monkeypatch.setattr(mounts, "_libraries", lambda: [tmp_path / "usr"])
    private = [tmp_path / "usr/course", tmp_path / "usr/course.db"]
    made = Container("crun", tmp_path)
    made.command(Limits(disk_bytes=12345), private)
    config = json.loads((tmp_path / "config.json").read_text())
    mounted = {mount["destination"]: mount for mount in config["mounts"]}
    assert mounted[f"{tmp_path}/usr/course"]["type"] == "tmpfs"
    assert mounted[f"{tmp_path}/usr/course.db"]["source"] == f"{tmp_path}/etc/empty"
    for place, mount in mounted.items():
        if place in process_limits.WRITABLE:
            assert "size=12345" in mount["options"]
        else:
            assert place == "/proc" or "ro" in mount["options"]
    kinds = {namespace["type"] for namespace in config["linux"]["namespaces"]}
    assert kinds >= {"pid", "ipc", "uts", "mount", "network"}
    assert config["root"]["readonly"] and config["process"]["noNewPrivileges"]
    rights = config["process"]["capabilities"]["bounding"]
    assert rights == (["CAP_SETUID", "CAP_SETGID"] if os.getuid() == 0 else [])


@pytest.mark.parametrize("uid", [0, 1000])
def test_gvisor_is_given_no_network_and_the_connection(monkeypatch, tmp_path, installed, uid):
    """What its own documentation says of these options is all that holds this test."""
    monkeypatch.setattr(container.os, "geteuid", lambda: uid)
    made = Container("runsc", tmp_path)
    command = made.command(Limits())
    assert command[:3] == ["/bin/sh", "-c", 'exec "$@" 3<&0 0</dev/null']
    options = command[4 : command.index("run")]
    assert options[0] == "/opt/runsc" and "--network=none" in options
    assert ("--rootless" in options) == (uid != 0)
    assert "--pass-fd=3:3" in command[command.index("run") :]
    assert not made.has_this_kernel  # so no cgroup of this one is offered to it
