"""Limits that the kernel holds for all processes of a submission together: a control group.

The resource limits of a process hold for itself alone, and adding up what several use takes a look
from time to time, between which much can happen. A cgroup of version 2 has no such gaps, counts the
CPU time of processes that hide, and kills them all at once. One can be made where this process may
write to a group above its own that passes memory and processes on: as root, or as a user of a
machine with systemd. The session enters before any student code runs, and cannot leave.
"""

import contextlib
import os
import tempfile
import time
from collections.abc import Collection, Iterator
from itertools import product
from pathlib import Path

from autograder.inside.process_limits import WRITABLE, Limits

with contextlib.suppress(ImportError):  # not on Windows, where nobody's class is graded
    import fcntl

_PREFIX = "autograder-"
_PROCESS = Path("/proc/self")
_ATTEMPTS = 3  # another run may take a group for a leftover before it is locked
_REMOVE_SECONDS = 1.0  # in which killed processes are gone


class ControlGroup:
    """A group that the processes of one submission after another are in.

    Args:
        folder: of the group, just made; nobody is in it.

    Attributes:
        entrance: a file; who writes 0 to it is in the group.

    Raises:
        OSError: if it does not limit memory or processes.
    """

    def __init__(self, folder: Path, limits: Limits) -> None:
        self._folder = folder
        self._n_kills = 0
        # What lies in the writable folders, which are in memory, has a limit of its own.
        memory = limits.memory_bytes + len(WRITABLE) * limits.disk_bytes
        self._write("memory.max", memory)
        self._write("pids.max", limits.processes)
        for name, value in (("memory.swap.max", 0), ("memory.oom.group", 1)):
            with contextlib.suppress(OSError):  # no swap, or before Linux 4.19
                self._write(name, value)
        self._lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        self.entrance = os.open(folder / "cgroup.procs", os.O_WRONLY)

    def cpu_seconds(self) -> float:
        """CPU time of all processes that are or have been in the group."""
        return self._read("cpu.stat", "usage_usec") / 1e6

    def ran_out_of_memory(self) -> bool:
        """Whether the kernel has killed for want of memory since this was last asked."""
        before, self._n_kills = self._n_kills, self._read("memory.events", "oom_kill")
        return self._n_kills > before

    def kill(self) -> None:
        """Kill every process in the group."""
        with contextlib.suppress(OSError):  # before Linux 5.14
            self._write("cgroup.kill", 1)

    def close(self) -> None:
        """Kill every process in the group and delete it."""
        self.kill()
        os.close(self.entrance)
        deadline = time.monotonic() + _REMOVE_SECONDS
        while not _removed(self._folder) and time.monotonic() < deadline:
            time.sleep(0.01)
        os.close(self._lock)

    def _write(self, name: str, value: int) -> None:
        file = os.open(self._folder / name, os.O_WRONLY)  # never to create one
        try:
            os.write(file, str(value).encode())
        finally:
            os.close(file)

    def _read(self, name: str, key: str) -> int:
        try:
            lines = (self._folder / name).read_text().splitlines()
        except OSError:
            return 0
        return int(dict(line.split() for line in lines).get(key, 0))


def make_control_group(
    limits: Limits, controllers: Collection[str] = ("memory", "pids")
) -> ControlGroup | None:
    """Make a group beside this process's own or one above it; None where that is not possible.

    Groups that killed runs have left are deleted.

    Args:
        controllers: what it must be able to limit.
    """
    for parent in _groups_above():
        with contextlib.suppress(OSError):
            if not set(controllers) <= set((parent / "cgroup.subtree_control").read_text().split()):
                continue
            for left in parent.glob(f"{_PREFIX}*"):
                _remove_unlocked(left)
            for _ in range(_ATTEMPTS):
                folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=parent))
                try:
                    return ControlGroup(folder, limits)
                except OSError:
                    _removed(folder)
    return None


def _groups_above() -> Iterator[Path]:
    """Yield the folders of this process's group, if it is of version 2, and of those above it."""
    with contextlib.suppress(OSError):
        lines = (_PROCESS / "cgroup").read_text().splitlines()
        own = [Path(line[3:]) for line in lines if line.startswith("0::")]
        mounts = (_PROCESS / "mountinfo").read_text().splitlines()
        for group, fields in product(own, map(str.split, mounts)):
            is_here = fields[fields.index("-") + 1] == "cgroup2"
            if is_here and group.is_relative_to(fields[3]):
                inner = group.relative_to(fields[3])
                yield from (Path(fields[4]) / each for each in (inner, *inner.parents))


def _remove_unlocked(folder: Path) -> None:
    """Delete a group if its run has ended."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _removed(folder)
        finally:
            os.close(handle)


def _removed(folder: Path) -> bool:
    """Delete a group, if nothing runs in it, and say whether it is gone."""
    with contextlib.suppress(OSError):
        folder.rmdir()
    return not folder.exists()
