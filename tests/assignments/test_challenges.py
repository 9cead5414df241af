"""The open challenges, asked in the sandbox as a leaderboard asks them."""

from pathlib import Path

import nbformat
import pytest

import assignments
from autograder.authoring.course import Course, find_course
from autograder.authoring.release import ReleasedSet
from autograder.class_run.leaderboard import make_leaderboard
from autograder.class_run.pipeline import grade_class
from autograder.class_run.settings import Settings
from autograder.store.journal import Journal

COURSE = find_course(Path(assignments.__file__).parent)
TO_BEAT = {
    "ps1": (1.0, 1.3),  # bits per token
    "ps3": (17_511, 17_511),  # numbers
    "ps4": (0.55, 0.70),  # nats per token
    "ps5": (7_232, 7_232),
    "ps7": (0.55, 0.70),  # of the gaps
    "ps8": (0.52, 0.70),  # of the reviews
}
"""What the solution's own answer reaches, at least and at most. In the others time ranks."""


def test_every_set_has_a_challenge_that_is_ranked_by_time_or_by_a_score():
    timed = {name for name in COURSE.sets() if COURSE.problem_set(name).challenge.score is None}
    assert timed == {"ps2", "ps6"} == set(COURSE.sets()) - TO_BEAT.keys()


@pytest.mark.exhaustive_but("ps3")
@pytest.mark.slow
@pytest.mark.sandbox
@pytest.mark.filterwarnings("ignore::nbformat.warnings.MissingIDFieldWarning")
@pytest.mark.parametrize("name", [name for name in COURSE.sets() if name != "ps2"])
def test_answer_to_beat_is_ranked_in_the_sandbox(name, tmp_path, monkeypatch):
    monkeypatch.setattr(Course, "leaderboard", lambda self: ((name,), {}))
    monkeypatch.setattr(Journal, "salt", lambda self: "1729")
    released = ReleasedSet(COURSE, name)
    (tmp_path / "class").mkdir()
    nbformat.write(released.notebooks.student, tmp_path / "class" / "ada.ipynb")
    settings = Settings(tmp_path / "out")
    grade_class(released, tmp_path / "class", settings)
    (entry,) = make_leaderboard(released, settings).ranked
    lowest, highest = TO_BEAT.get(name, (0.0, 30.0))
    assert entry.student == "" and lowest <= entry.score <= highest
