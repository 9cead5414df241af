"""Settings by which a system keeps user namespaces from bubblewrap, and what to do about each."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

SETTINGS = Path("/proc/sys")
_PROFILE = "bwrap-userns-restrict"
_CONTAINER = "or grade in the course's container (`Dockerfile`)"


@dataclass(frozen=True)
class Setting:
    """A file of the kernel's settings that may forbid user namespaces.

    Attributes:
        name: as `sysctl` has it.
        forbids: whether a value forbids them.
        remedy: what an administrator may do.
    """

    name: str
    forbids: Callable[[int], bool]
    remedy: str


_KNOWN = (
    Setting(
        "kernel.apparmor_restrict_unprivileged_userns",
        lambda value: value > 0,
        "AppArmor keeps user namespaces from programs without a profile, as Ubuntu has it since "
        "24.04. Allow them to bubblewrap alone, by Ubuntu's own profile: sudo apt-get install "
        f"apparmor-profiles && sudo cp /usr/share/apparmor/extra-profiles/{_PROFILE} "
        f"/etc/apparmor.d/ && sudo apparmor_parser -r /etc/apparmor.d/{_PROFILE}; or to every "
        "program: sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0",
    ),
    Setting(
        "kernel.unprivileged_userns_clone",
        lambda value: value == 0,
        "older kernels of Debian keep user namespaces to root. Allow them: "
        "sudo sysctl kernel.unprivileged_userns_clone=1",
    ),
    Setting(
        "user.max_user_namespaces",
        lambda value: value == 0,
        "no user namespace may be made. Allow them: sudo sysctl user.max_user_namespaces=10000",
    ),
)


def why_forbidden() -> str:
    """Return which setting of this system forbids user namespaces, and the remedies; else "".

    Root needs none, so nothing is said to root.
    """
    if os.geteuid() == 0:
        return ""
    for setting in _KNOWN:
        file = SETTINGS / setting.name.replace(".", "/")
        try:
            value = int(file.read_text(encoding="ascii"))
        except (OSError, ValueError):  # a kernel without it
            continue
        if setting.forbids(value):
            return f"{setting.name} is {value}: {setting.remedy}; {_CONTAINER}"
    return ""
