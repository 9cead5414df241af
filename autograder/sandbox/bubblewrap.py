"""The command that starts the server in bubblewrap."""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from autograder.inside.process_limits import WRITABLE, Limits
from autograder.records import SandboxUnavailable
from autograder.sandbox import mounts

INSTALL = (
    "On Debian or Ubuntu: sudo apt-get install bubblewrap (0.8 or newer); inside a container user "
    "namespaces must be allowed, or Landlock (Linux 6.12, or as root 6.2). On macOS or Windows "
    "grade inside the course's container (`Dockerfile`) or a Linux machine. `autograder doctor` "
    "tries it out. To grade people whom you trust with this account without isolation, use "
    "--no-sandbox."
)


def bubblewrap_command(
    folder: Path, limits: Limits, control_fd: int, private: Sequence[Path] = ()
) -> list[str]:
    """Return the command that starts the server in bubblewrap.

    Args:
        folder: the sandbox's own; `etc` is added to it.
        private: files and folders to hide.

    Raises:
        SandboxUnavailable: if bubblewrap is missing or too old.
        GraderError: if something private cannot be hidden.
    """
    arguments = [_bubblewrap(), "--die-with-parent", "--new-session", "--unshare-all"]
    arguments += ["--hostname", "notebook", "--cap-drop", "ALL"]
    if os.geteuid() == 0:
        # Root needs no user namespace here. The server gives these up before it imports anything.
        arguments.remove("--unshare-all")
        arguments += [f"--unshare-{kind}" for kind in ("ipc", "pid", "net", "uts", "cgroup-try")]
        arguments += ["--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]
    else:
        arguments += ["--uid", "1000", "--gid", "1000"]
    arguments += ["--clearenv"]
    for name, value in mounts.environment().items():
        arguments += ["--setenv", name, value]
    arguments += ["--proc", "/proc", "--dev", "/dev"]
    binds = list(mounts.read_only(folder))
    # Memory that is mapped from this device would be nobody's.
    arguments += ["--ro-bind", str(folder / "etc" / "empty"), "/dev/zero"]
    for parent in sorted({parent for _, target in binds for parent in Path(target).parents}):
        arguments += ["--dir", str(parent)]  # open to all; made by --ro-bind they would not be
    for source, target in binds:
        arguments += ["--ro-bind", str(source), target]
    for target, path in mounts.visible_private(binds, private):
        if path.is_dir():
            arguments += ["--tmpfs", target, "--remount-ro", target]
        else:
            arguments += ["--ro-bind", str(folder / "etc" / "empty"), target]
    for target in WRITABLE:
        arguments += ["--perms", "1777", "--size", str(limits.disk_bytes), "--tmpfs", target]
    arguments += ["--chdir", "/", "--remount-ro", "/dev", "--remount-ro", "/"]
    return [*arguments, "--", *mounts.command_inside(control_fd)]


@cache
def _bubblewrap() -> str:
    program = shutil.which("bwrap")
    if sys.platform != "linux" or program is None:
        raise SandboxUnavailable("bubblewrap is not installed")
    options = subprocess.run([program, "--help"], capture_output=True, text=True).stdout
    if "--size" not in options:
        raise SandboxUnavailable(f"bubblewrap at {program} is too old; 0.8 is needed")
    return program
