"""A file that only those open who look for the grader."""

import contextlib
from pathlib import Path

import pytest

from autograder.sandbox.bait import NAME, PLACES, Bait
from autograder.sandbox.sandbox import FORCE_TIER, Sandbox
from autograder.sandbox.submission_run import SubmissionRun


def test_bait_tells_once_that_it_was_opened(tmp_path):
    bait = Bait(tmp_path)
    bait.lay()
    bait.watch(take_name=False)
    assert not bait.was_opened()
    assert bait.path.read_bytes() == b"" and bait.was_opened()
    assert bait.path.exists() and not bait.was_opened()
    bait.close()
    assert not bait.was_opened()


def test_bait_without_a_name_is_noticed_where_it_is_still_open_and_nowhere_else(tmp_path):
    bait = Bait(tmp_path)
    bait.lay()
    with bait.path.open() as mounted:
        assert bait.path.read_bytes() == b""  # before it is watched
        bait.watch(take_name=True)
        assert not bait.path.exists() and not bait.was_opened()
        Path(f"/proc/self/fd/{mounted.fileno()}").read_bytes()
        assert bait.was_opened()
    bait.lay()  # the old one is gone now, which the kernel reports too
    assert bait.path.read_bytes() == b"" and not bait.was_opened()
    bait.close()


@pytest.mark.sandbox
def test_submission_that_opens_the_bait_is_noticed(monkeypatch):
    monkeypatch.setenv(FORCE_TIER, "A")
    with Sandbox(libraries=()) as sandbox:
        honest = sandbox.run(
            ["import os\nprint(os.listdir('.'), os.path.exists('/gradebook.db'))"], []
        )
        assert "True" in honest.cells[0].output
        assert not honest.tampered and honest.problems == ()
        for place in PLACES:
            caught = sandbox.run([f"open({place!r}).read()", f"open({place!r}).read()"], [])
            assert caught.cells[0].error is None and caught.tampered
            assert caught.problems == ("it has opened a file that looks like the grader's",)
        assert not sandbox.run(["x = 1"], []).tampered


@pytest.mark.sandbox
@pytest.mark.parametrize("trusted", [False, True])
def test_search_of_this_machine_makes_nobody_tamper(monkeypatch, tmp_path, trusted):
    """Where the bait is mounted it has no name outside; where it has one, it proves nothing."""
    monkeypatch.setenv(FORCE_TIER, "A")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    found, advance = [], SubmissionRun.advance

    def search_meanwhile(progress, session):
        for path in tmp_path.rglob("*"):
            with contextlib.suppress(OSError):  # a folder, or a file that has gone meanwhile
                path.read_bytes()
                found.append(path.name)
        advance(progress, session)

    with Sandbox(libraries=(), allow_unsandboxed=trusted) as sandbox:
        monkeypatch.setattr(SubmissionRun, "advance", search_meanwhile)
        run = sandbox.run(["x = 1"], [])
    assert "passwd" in found or trusted
    assert not run.tampered
    assert (NAME in found) == trusted
    assert [problem.split(",")[1] for problem in run.problems] == [
        " a file that looks like the grader's was opened"
    ] * trusted
