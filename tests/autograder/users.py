"""Run tests as somebody else: another user, another tier, without bubblewrap."""

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NOBODY = 65534
"""Where the tests run as root: a user that every Linux has and that may do nothing."""

_TIERS_MATTER = "not patched and not equal and not hostile and not never and not slow"
ATTACKS = ("tests/autograder/test_attacks.py", "-k", _TIERS_MATTER)
"""Chooses the attacks that user and tier must stop. The others are judged outside, or meet limits
of time, which are the same for every user and tier."""

TWIN = f"/usr/bin/python{sys.version_info[0]}.{sys.version_info[1]}"
_ENOUGH = """
import os, pytest
from importlib.util import find_spec
open(os.__file__).read()
assert all(find_spec(name) for name in ("torch", "IPython", "hypothesis"))
"""


def environment(folder, **variables):
    """Return as few variables as will do, every folder among them in `folder`."""
    path = f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin"
    places = {"HOME": str(folder), "TMPDIR": str(folder), "PATH": path}
    return places | {"OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1", **variables}


def as_user(uid):
    """Return arguments for subprocess to run as this user; none for the present one."""
    return {"user": uid, "group": uid, "extra_groups": []} if uid != os.getuid() else {}


def python_for(uid, folder):
    """Return an interpreter, with this one's packages, that the user may read; else skip.

    An interpreter in a home folder is closed to others; the system's own of the same version then
    stands in for it, in an environment whose packages are these.
    """
    candidates = [sys.executable]
    if Path(TWIN).exists() and sys.prefix != sys.base_prefix:
        candidates.append(_environment_of(TWIN, folder))
    for candidate in candidates:
        try:
            done = subprocess.run(
                [candidate, "-c", _ENOUGH],
                env=environment(folder),
                cwd=folder,
                capture_output=True,
                **as_user(uid),
            )
        except PermissionError:
            continue
        if done.returncode == 0:
            return candidate
    pytest.skip(f"user {uid} may read no Python with these packages: {' '.join(candidates)}")


def _environment_of(python, folder):
    packages = next(path for path in sys.path if path.endswith("site-packages"))
    home = folder / "environment"
    link = home / Path(packages).relative_to(sys.prefix)
    if not home.exists():
        (home / "bin").mkdir(parents=True)
        link.parent.mkdir(parents=True)
        (home / "bin" / "python").symlink_to(python)
        link.symlink_to(packages)
        (home / "pyvenv.cfg").write_text(f"home = {Path(python).parent}\n")
    return str(home / "bin" / "python")


def copy_of_the_tests(folder):
    """Copy grader and tests to where everybody may read them; return the place."""
    place = folder / "copy"
    for name in ("autograder", "tests/autograder"):
        shutil.copytree(ROOT / name, place / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "conftest.py"):
        shutil.copyfile(ROOT / name, place / name)
    for path in (place, *place.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    return place


@contextlib.contextmanager
def open_folder():
    """Make a folder for everybody; pytest keeps its own to their owner."""
    with tempfile.TemporaryDirectory(prefix="tests-", ignore_cleanup_errors=True) as name:
        Path(name).chmod(0o777)
        yield Path(name)


def run_tests(uid, *arguments, **variables):
    """Run tests from a copy as this user; return what pytest prints."""
    with open_folder() as folder:
        # Root's student code runs as somebody who must be able to read it too.
        command = [
            python_for(uid or NOBODY, folder),
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
        ]
        done = subprocess.run(
            [*command, f"--basetemp={folder}/temp", *arguments],
            cwd=copy_of_the_tests(folder),
            env=environment(folder, **variables),
            capture_output=True,
            text=True,
            **as_user(uid),
        )
    assert done.returncode == 0, f"{done.stdout[-6000:]}\n{done.stderr[-2000:]}"
    assert " passed" in done.stdout, done.stdout[-6000:]  # not skipped, all of them
    return done.stdout
