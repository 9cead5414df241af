"""What a laptop of any system must have: no module that only Linux and macOS have is imported."""

import re
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
_AS_ON_WINDOWS = """
import ast, builtins, importlib, pkgutil, sys
from pathlib import Path

ABSENT = {
    "crypt", "curses", "fcntl", "grp", "nis", "ossaudiodev", "posix", "pty", "pwd", "readline",
    "resource", "spwd", "syslog", "termios", "tty",
}
OURS = {"course_pkg", "autograder", "assignments", "__main__"}
real_import = builtins.__import__

# What is imported by others, who know on which system they are, is their own affair.
def as_on_windows(name, namespace=None, *rest, **more):
    importer = (namespace or more.get("globals") or {}).get("__name__", "").partition(".")[0]
    if importer in OURS and name.partition(".")[0] in ABSENT:
        raise ModuleNotFoundError(f"{importer} imports {name}, which Windows does not have")
    return real_import(name, namespace, *rest, **more)

builtins.__import__ = as_on_windows
"""
_IMPORT_THE_PACKAGE = """
import course_pkg
for module in pkgutil.walk_packages(course_pkg.__path__, "course_pkg."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
        print(module.name)
"""
_IMPORT_AS_NOTEBOOKS_DO = """
for notebook in sorted(Path("assignments").glob("ps*/notebook.py")):
    for node in ast.walk(ast.parse(notebook.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import | ast.ImportFrom):
            exec(ast.unparse(node), {"__name__": "__main__"})
            print(notebook)
"""

_DEVICES = {
    "con",
    "prn",
    "aux",
    "nul",
    *(f"{name}{n}" for name in ("com", "lpt") for n in range(10)),
}

_WORK = """
import runpy
sys.argv = ["autograder", "work", "ps2", "--work", sys.argv[1]]
runpy.run_module("autograder", run_name="__main__")
"""


def run(program: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run a program in a fresh interpreter that lacks what Windows lacks."""
    return subprocess.run(
        [sys.executable, "-c", _AS_ON_WINDOWS + program, *map(str, arguments)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("statement", ["import fcntl", "from pwd import getpwuid"])
def test_a_module_that_windows_lacks_is_noticed(statement):
    assert "which Windows does not have" in run(statement).stderr
    assert run("import subprocess, tempfile, asyncio, multiprocessing").returncode == 0


def test_package_imports_nothing_that_windows_lacks():
    done = run(_IMPORT_THE_PACKAGE)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) > 80


def test_notebooks_import_nothing_that_windows_lacks():
    done = run(_IMPORT_AS_NOTEBOOKS_DO)
    assert done.returncode == 0, done.stderr
    assert len(set(done.stdout.splitlines())) >= 8


def test_students_get_their_notebooks_where_windows_is(tmp_path):
    done = run(_WORK, tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "ps2" / "ps2.ipynb").is_file()


def test_every_file_has_a_name_that_windows_and_macos_take():
    """They tell no capitals apart, and Windows refuses some signs, names and long paths."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(listed, cwd=ROOT, capture_output=True, check=True)
    names = list(filter(None, done.stdout.decode().split("\0")))
    assert len(names) > 500
    assert len({unicodedata.normalize("NFC", name).casefold() for name in names}) == len(names)
    for name in names:
        assert not re.search(r'[<>:"|?*\\\x00-\x1f]', name) and len(name) < 160, name
        for part in Path(name).parts:
            assert part.partition(".")[0].casefold() not in _DEVICES, name
            assert not part.endswith((".", " ")), name
