"""What student code leaves in a folder goes, and nothing else."""

import os

import pytest

from autograder.inside.deletion import empty_folder
from tests.autograder.users import NOBODY, open_folder

N_DEEP = 5_000  # a path of a million characters, which no call takes


@pytest.fixture
def beside(tmp_path):
    """A folder that is none of ours, with a file in it."""
    (tmp_path / "beside").mkdir()
    (tmp_path / "beside" / "file").write_text("stays")
    return tmp_path / "beside"


def test_folders_of_any_depth_go(tmp_path):
    here = os.getcwd()
    os.chdir(tmp_path)
    try:
        for _ in range(N_DEEP):
            os.mkdir("a" * 200)
            os.chdir("a" * 200)
        open("file", "w").close()
    finally:
        os.chdir(here)
    empty_folder(str(tmp_path))
    assert os.listdir(tmp_path) == []


def test_folders_beside_each_other_go_with_their_files_and_links(tmp_path, beside):
    work = tmp_path / "work"
    for name in ("a/b/c", "a/d", "e", "f/g"):
        (work / name).mkdir(parents=True)
        (work / name / "file").write_text("goes")
        (work / name / "to a folder").symlink_to(beside)
        (work / name / "to a file").symlink_to(beside / "file")
    empty_folder(str(work))
    assert os.listdir(work) == []
    assert (beside / "file").read_text() == "stays"
    assert beside.stat().st_mode & 0o777 != 0o700


def test_folder_that_is_moved_meanwhile_leads_nowhere(tmp_path, beside, monkeypatch):
    """Up from a folder that was moved lies another one than on the way down."""
    work = tmp_path / "work"
    (work / "a" / "b" / "c").mkdir(parents=True)
    (work / "a" / "b" / "c" / "file").write_text("goes")
    unlink = os.unlink

    def unlink_and_move(*arguments, **options):
        unlink(*arguments, **options)
        (work / "a" / "b" / "c").rename(beside / "c")

    monkeypatch.setattr(os, "unlink", unlink_and_move)
    empty_folder(str(work))
    assert sorted(os.listdir(beside)) == ["c", "file"]
    assert sorted(os.listdir(tmp_path)) == ["beside", "work"]


def test_folder_that_somebody_else_deletes_meanwhile_ends_it(tmp_path, monkeypatch):
    work = tmp_path / "work"
    (work / "a" / "b").mkdir(parents=True)
    (work / "a" / "b" / "file").write_text("goes")
    unlink = os.unlink

    def unlink_and_delete(*arguments, **options):
        unlink(*arguments, **options)
        (work / "a" / "b").rmdir()
        (work / "a").rmdir()

    monkeypatch.setattr(os, "unlink", unlink_and_delete)
    empty_folder(str(work))
    assert os.listdir(work) == []


def test_closed_folders_go(tmp_path):
    folder = tmp_path / "work"
    (folder / "shut" / "below").mkdir(parents=True)
    (folder / "shut" / "below" / "file").write_text("goes")
    (folder / "locked").mkdir()
    (folder / "locked" / "file").write_text("goes")
    for name, mode in (("shut/below", 0), ("shut", 0), ("locked", 0o500), ("", 0)):
        (folder / name).chmod(mode)
    empty_folder(str(folder))
    assert os.listdir(folder) == []


@pytest.mark.skipif(os.getuid() != 0, reason="needs root, to become others")
def test_what_is_somebody_elses_stays_and_the_rest_goes():
    with open_folder() as place:
        folder = place / "work"
        (folder / "theirs").mkdir(parents=True)
        (folder / "theirs" / "file").write_text("stays")
        (folder / "ours" / "below").mkdir(parents=True)
        for path in (folder, folder / "ours", folder / "ours" / "below"):
            os.chown(path, NOBODY, NOBODY)
        child = os.fork()
        if child == 0:
            os.setresuid(NOBODY, NOBODY, NOBODY)
            empty_folder(str(folder))
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        assert os.listdir(folder) == ["theirs"]
        assert os.listdir(folder / "theirs") == ["file"]
