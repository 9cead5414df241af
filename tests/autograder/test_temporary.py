import os
import re
import subprocess
import sys
import tempfile
import time

import pytest

from autograder import temporary
from autograder.temporary import delete_leftovers, temporary_folder
from tests.autograder.users import ROOT, open_folder

KILLED = """
import os, signal
from autograder.temporary import temporary_folder
with temporary_folder("test") as folder:
    deep = folder
    for _ in range(300):
        deep = deep / "d"
        deep.mkdir()
    deep.chmod(0)
    (folder / "link").symlink_to(os.environ["OUTSIDE"])
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder for temporary files of this test alone."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def be_killed(place):
    """Use a folder in a process that is killed; return what it leaves, as if it were old."""
    outside = place.parent / "outside"
    outside.mkdir(exist_ok=True)
    (outside / "file").touch()
    variables = {"PYTHONPATH": str(ROOT), "TMPDIR": str(place), "OUTSIDE": str(outside)}
    subprocess.run([sys.executable, "-c", KILLED], env=os.environ | variables)
    (left,) = place.iterdir()
    age(left)
    return left


def age(folder):
    os.utime(folder, (time.time() - 3600,) * 2)


def test_folder_is_deleted_at_the_end(place):
    with temporary_folder("test") as folder:
        (folder / "file").touch()
        assert folder.parent == place
    assert list(place.iterdir()) == []


def test_leftovers_of_a_killed_run_are_deleted_by_the_next(place):
    left = be_killed(place)
    with temporary_folder("test") as folder:
        assert not left.exists()
        assert list(place.iterdir()) == [folder]
    assert (place.parent / "outside/file").exists(), "a link was followed"


def test_folders_of_runs_that_go_on_are_left_alone(place):
    with temporary_folder("test") as folder:
        age(folder)
        delete_leftovers()
        assert folder.exists()


def test_what_is_new_or_no_folder_of_this_user_is_left_alone(place):
    for name in (".autograder-run-new", "target", "other"):
        (place / name).mkdir()
    (place / ".autograder-run-link").symlink_to(place / "target")
    (place / ".autograder-run-file").touch()
    if os.getuid() == 0:
        (place / ".autograder-run-theirs").mkdir()
        os.chown(place / ".autograder-run-theirs", 65534, 65534)
    before = set(place.iterdir())
    for path in before - {place / ".autograder-run-new"}:
        age(path)
    delete_leftovers()
    assert set(place.iterdir()) == before


def test_every_temporary_folder_of_ours_is_one_that_the_next_run_deletes():
    """All others stay for good where a command is killed, with what the instructor knows."""
    made = re.compile(
        r"tempfile\.(?:TemporaryDirectory|mkdtemp|mkstemp|NamedTemporaryFile)\(([^)]*)"
    )
    found = {
        f"{path.relative_to(ROOT)}: {arguments}"
        for path in (ROOT / "autograder").rglob("*.py")
        for arguments in made.findall(path.read_text("utf-8"))
        if path.name != "temporary.py" and "dir=" not in arguments  # beside what it will replace
    }
    assert found == set()


def test_where_nothing_can_be_locked_a_folder_is_deleted_at_the_end(place, monkeypatch):
    monkeypatch.setattr(temporary, "fcntl", None)  # as on Windows
    with temporary_folder("test") as folder:
        (folder / "file").touch()
        assert folder.parent == place
    assert list(place.iterdir()) == []


SERVER_OF_PROCESSES = """
import os, signal
from autograder.class_run import fork_server
fork_server._LOADED.clear()
fork_server.prepare()
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_nothing_of_pythons_own_stays_of_a_killed_run(monkeypatch):
    with open_folder() as place:  # a short path, as sockets need
        monkeypatch.setattr(tempfile, "tempdir", str(place))
        leave_nothing_of_pythons_own(place)


def leave_nothing_of_pythons_own(place):
    variables = {"PYTHONPATH": str(ROOT), "TMPDIR": str(place)}
    subprocess.run([sys.executable, "-c", SERVER_OF_PROCESSES], env=os.environ | variables)
    (left,) = place.iterdir()  # and no `pymp-...`
    assert any(left.iterdir())
    age(left)
    delete_leftovers()
    assert list(place.iterdir()) == []
