"""A file that only those open who look for the grader."""

import pytest

from autograder.sandbox.bait import PLACES, Bait
from autograder.sandbox.sandbox import FORCE_TIER, Sandbox


def test_bait_tells_once_that_it_was_opened(tmp_path):
    bait = Bait(tmp_path)
    assert not bait.was_opened()
    assert bait.path.read_bytes() == b"" and bait.was_opened()
    assert bait.path.exists() and not bait.was_opened()
    bait.close()
    assert not bait.was_opened()


@pytest.mark.sandbox
def test_submission_that_opens_the_bait_is_noticed(monkeypatch):
    monkeypatch.setenv(FORCE_TIER, "A")
    with Sandbox(libraries=()) as sandbox:
        honest = sandbox.run(
            ["import os\nprint(os.listdir('.'), os.path.exists('/gradebook.db'))"], []
        )
        assert not honest.tampered and honest.problems == ()
        for place in PLACES:
            caught = sandbox.run([f"open({place!r}).read()", f"open({place!r}).read()"], [])
            assert caught.cells[0].error is None and caught.tampered
            assert caught.problems == (
                "while this notebook ran, a file that looks like the grader's was opened, by its "
                "code or by a program that searches this machine's temporary files",
            )
        assert not sandbox.run(["x = 1"], []).tampered
