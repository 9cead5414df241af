"""The container in which an OCI runtime starts the server, where an instructor asks for one.

    runsc        gVisor: student code meets a kernel of its own, written in Go
    crun, runc   the runtimes of Podman and Docker: namespaces, as bubblewrap makes them

What is mounted is what bubblewrap mounts. The server's connection is passed on as a descriptor;
gVisor takes those in, too, which the grader sends over it for each submission.
"""

import json
import os
import shutil
import subprocess
import sys
import uuid
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from autograder.inside.process_limits import STUDENT_ID, WRITABLE, Limits
from autograder.records import GraderError, SandboxUnavailable
from autograder.sandbox import mounts

RUNTIMES = {
    "runsc": "gVisor (runsc), a kernel of its own",
    "crun": "a container by crun",
    "runc": "a container by runc",
}
"""What a runtime is called in a grade, the strongest first."""
_NAMESPACES = ("pid", "ipc", "uts", "mount", "network")
# The number that every runtime can pass on; standard input, some replace by a pipe.
_CONTROL_FD = 3
_WITH_CONTROL_FD = ["/bin/sh", "-c", f'exec "$@" {_CONTROL_FD}<&0 0</dev/null', "sh"]
# What a student could learn of this machine, or change about it as root.
_MASKED = ("/dev/zero", "/proc/acpi", "/proc/kcore", "/proc/keys", "/proc/timer_list", "/proc/scsi")
_READ_ONLY = ("/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger")
_DELETE_SECONDS = 120.0


class Container:
    """What is needed to start a server in a container, and to leave nothing of it behind.

    Args:
        runtime: one of `RUNTIMES`.
        folder: the sandbox's own; `root`, `state` and a configuration are added to it.

    Attributes:
        description: what isolates, in words.
        has_this_kernel: whether student code meets the kernel that the grader runs on.

    Raises:
        GraderError: if it is none of them.
        SandboxUnavailable: if it is not installed.
    """

    def __init__(self, runtime: str, folder: Path) -> None:
        if runtime not in RUNTIMES:
            known = ", ".join(RUNTIMES)
            raise GraderError(f"container is {runtime!r}; it must be one of {known}")
        program = shutil.which(runtime)
        if sys.platform != "linux" or program is None:
            raise SandboxUnavailable(f"{runtime} is not installed")
        self.description = RUNTIMES[runtime]
        self.has_this_kernel = runtime != "runsc"
        self._maps_root = runtime == "runc"  # which refuses a user namespace without one
        self._folder = folder
        self._id = f"autograder-{uuid.uuid4().hex}"
        is_root = os.geteuid() == 0
        # What a group of the kernel limits is limited by the server, too, and a user has no group.
        options = {
            "runsc": ["--network=none", "--ignore-cgroups", *["--rootless"] * (not is_root)],
            "crun": ["--cgroup-manager=disabled"],
            "runc": [],
        }
        self._passes_on = (
            [f"--preserve-fds={_CONTROL_FD - 2}"]
            if self.has_this_kernel
            else [f"--pass-fd={_CONTROL_FD}:{_CONTROL_FD}"]
        )
        self._runtime = [program, "--root", str(folder / "state"), *options[runtime]]

    def command(self, limits: Limits, private: Sequence[Path] = ()) -> list[str]:
        """Return the command that starts the server; the connection is its standard input.

        Args:
            private: files and folders to hide.

        Raises:
            GraderError: if something private cannot be hidden.
        """
        (self._folder / "root").mkdir(exist_ok=True)
        config = self._config(limits, private)
        (self._folder / "config.json").write_text(json.dumps(config, indent=1))
        run = [*self._runtime, "run", *self._passes_on, "--bundle", str(self._folder), self._id]
        return [*_WITH_CONTROL_FD, *run]

    def delete(self) -> None:
        """Kill every process in the container, and remove what the runtime knows of it."""
        with suppress(OSError, subprocess.TimeoutExpired):
            subprocess.run(
                [*self._runtime, "delete", "--force", self._id],
                capture_output=True,
                timeout=_DELETE_SECONDS,
            )

    def _config(self, limits: Limits, private: Sequence[Path]) -> dict[str, Any]:
        """Return the configuration, as the OCI's runtime specification 1.0 has it."""
        is_root = os.geteuid() == 0
        # Root needs no user namespace. The server gives these up before it imports anything.
        rights = ["CAP_SETUID", "CAP_SETGID"] if is_root else []
        if self._maps_root and not is_root:
            rights = ["CAP_SETFCAP"]  # else root could map itself into no further user namespace
        uid = 0 if is_root or self._maps_root else STUDENT_ID
        linux: dict[str, Any] = {
            "namespaces": [{"type": kind} for kind in _NAMESPACES],
            "maskedPaths": _MASKED,
            "readonlyPaths": _READ_ONLY,
        }
        if not is_root:
            linux["namespaces"].append({"type": "user"})
            for name, outside in (
                ("uidMappings", os.geteuid()),
                ("gidMappings", os.getegid()),
            ):
                linux[name] = [{"containerID": uid, "hostID": outside, "size": 1}]
        return {
            "ociVersion": "1.0.0",
            "process": {
                "terminal": False,
                "user": {"uid": uid, "gid": uid},
                "args": mounts.command_inside(_CONTROL_FD),
                "env": [f"{name}={value}" for name, value in mounts.environment().items()],
                "cwd": "/",
                "capabilities": {kind: rights for kind in ("bounding", "effective", "permitted")},
                "noNewPrivileges": True,
            },
            "root": {"path": "root", "readonly": True},
            "hostname": "notebook",
            "mounts": self._mounts(limits, private),
            "linux": linux,
        }

    def _mounts(self, limits: Limits, private: Sequence[Path]) -> list[dict[str, Any]]:
        def folder_in_memory(place: str, *options: str) -> dict[str, Any]:
            options = ("nosuid", "nodev", *options)
            return {"destination": place, "type": "tmpfs", "source": "tmpfs", "options": options}

        def bind(source: Path, place: str) -> dict[str, Any]:
            options = ("rbind", "ro", "nosuid", "nodev")
            source = source.resolve()
            return {"destination": place, "type": "bind", "source": str(source), "options": options}

        binds = list(mounts.read_only(self._folder))
        return [
            {"destination": "/proc", "type": "proc", "source": "proc"},
            {
                "destination": "/dev",
                "type": "tmpfs",
                "source": "tmpfs",
                "options": ["nosuid", "noexec", "ro", "mode=755", "size=65536k"],
            },
            *(bind(source, place) for source, place in binds),
            *(
                folder_in_memory(place, "ro", "mode=0555")
                if path.is_dir()
                else bind(self._folder / "etc" / "empty", place)
                for place, path in mounts.visible_private(binds, private)
            ),
            *(
                folder_in_memory(place, "mode=1777", f"size={limits.disk_bytes}")
                for place in WRITABLE
            ),
        ]
