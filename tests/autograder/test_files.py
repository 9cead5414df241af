import errno
import os
import signal
import subprocess
import sys
import time

import pytest

from autograder import files
from autograder.files import read_untrusted, write_atomically, write_folder, write_if_new
from autograder.records import GraderError
from autograder.store.gradebook import Gradebook
from tests.autograder.users import ROOT


def test_write_atomically_replaces_the_file_whole(tmp_path):
    path = tmp_path / "deep" / "file.txt"
    write_atomically(path, b"old")
    write_atomically(path, b"new")
    assert path.read_bytes() == b"new"
    assert [entry.name for entry in path.parent.iterdir()] == ["file.txt"]


def test_file_that_was_closed_to_others_stays_closed(tmp_path):
    path = tmp_path / "notebook.ipynb"
    write_atomically(path, b"old")
    assert path.stat().st_mode & 0o777 == 0o644
    path.chmod(0o600)
    write_atomically(path, b"new")
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("number", [errno.EPERM, errno.ENOSYS, errno.EOPNOTSUPP])
def test_files_and_folders_are_written_where_no_rights_can_be_set(tmp_path, monkeypatch, number):
    """As on a stick with FAT, whose drivers refuse other rights than it shows, or know none."""

    def refused(*_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(files.os, "chmod", refused)
    write_atomically(tmp_path / "notebook.ipynb", b"mine")
    write_folder(tmp_path / "set", {"notebook.py": b"1"})
    assert (tmp_path / "notebook.ipynb").read_bytes() == b"mine"
    assert (tmp_path / "set" / "notebook.py").read_bytes() == b"1"
    with Gradebook(f"sqlite:///{tmp_path / 'gradebook.db'}") as book:
        assert book.students() == frozenset()


def test_file_that_holds_the_same_is_not_written_again(tmp_path):
    path = tmp_path / "file.txt"
    write_if_new(path, b"same")
    first = path.stat().st_ino
    write_if_new(path, b"same")
    assert path.stat().st_ino == first
    write_if_new(path, b"other")
    assert path.read_bytes() == b"other"


KILLED = """
import os, signal, sys
from pathlib import Path
from autograder import files
files.os.fsync = lambda handle: os.kill(os.getpid(), signal.SIGKILL)
files.write_atomically(Path(sys.argv[1]), b"half")
"""


def test_half_written_file_of_a_killed_process_is_deleted_by_the_next(tmp_path):
    path = tmp_path / "page.html"
    write_atomically(path, b"whole")
    done = subprocess.run([sys.executable, "-c", KILLED, path], env={"PYTHONPATH": str(ROOT)})
    assert done.returncode == -signal.SIGKILL
    (left,) = tmp_path.glob(".*")
    os.utime(left, (time.time() - 3600,) * 2)
    files._delete_scratch.cache_clear()  # this is another process, as it were
    write_atomically(tmp_path / "other.html", b"new")
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["other.html", "page.html"]


KILLED_IN_A_FOLDER = """
import os, signal, sys
from pathlib import Path
from autograder import files
files.set_rights = lambda *given: os.kill(os.getpid(), signal.SIGKILL)
files.write_folder(Path(sys.argv[1]), {"one.txt": b"1", "two.txt": b"2"})
"""


def test_half_written_folder_of_a_killed_process_is_deleted_by_the_next(tmp_path):
    command = [sys.executable, "-c", KILLED_IN_A_FOLDER, tmp_path / "set"]
    done = subprocess.run(command, env={"PYTHONPATH": str(ROOT)})
    assert done.returncode == -signal.SIGKILL
    (left,) = tmp_path.glob(".*")
    os.utime(left, (time.time() - 3600,) * 2)
    with files.scratch_folder(tmp_path) as mine:  # old, but somebody still fills it
        os.utime(mine, (time.time() - 3600,) * 2)
        files._delete_scratch.cache_clear()  # this is another process, as it were
        files.write_folder(tmp_path / "other", {"one.txt": b"1"})
        assert mine.exists()
    assert [entry.name for entry in tmp_path.iterdir()] == ["other"]


def test_file_that_somebody_still_writes_is_left_alone(tmp_path):
    scratch = tmp_path / ".writing-here"
    with open(scratch, "wb") as file:
        files.fcntl.flock(file, files.fcntl.LOCK_EX)
        os.utime(scratch, (time.time() - 3600,) * 2)
        write_atomically(tmp_path / "page.html", b"new")
        assert scratch.exists()


def test_write_atomically_leaves_the_old_file_when_it_fails(tmp_path, monkeypatch):
    path = tmp_path / "file.txt"
    write_atomically(path, b"old")

    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_atomically(path, b"new")
    assert path.read_bytes() == b"old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["file.txt"]


def test_read_untrusted_reads_up_to_its_bound(tmp_path):
    path = tmp_path / "file.txt"
    path.write_bytes(b"12345")
    assert read_untrusted(tmp_path, ["file.txt"], 5) == b"12345"
    with pytest.raises(GraderError, match="5 bytes; at most 4"):
        read_untrusted(tmp_path, ["file.txt"], 4)


def test_read_untrusted_rejects_links_pipes_folders_and_what_is_missing(tmp_path):
    (tmp_path / "link").symlink_to("/etc/passwd")
    os.mkfifo(tmp_path / "pipe")
    for name, words in (
        ("link", "symbolic link"),
        ("pipe", "not a plain file"),
        (".", "not a plain file"),
        ("missing", "No such file"),
    ):
        with pytest.raises(GraderError, match=words):
            read_untrusted(tmp_path, [name], 10)
