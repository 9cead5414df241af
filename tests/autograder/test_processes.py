import os
import signal
from pathlib import Path

import pytest

from autograder import processes
from autograder.confine import Limits
from autograder.grader import Confinement
from autograder.pipeline import Settings, grade_class

QUICK = Confinement(Limits(cell_seconds=3, submission_seconds=20))


@pytest.mark.slow
@pytest.mark.sandbox
def test_pool_outlives_the_death_of_a_worker(toys, toy_course, hand_in, tmp_path, monkeypatch):
    for student in ("ada", "bo", "cy"):
        folder = hand_in(student, double=toys.double, mean=toys.mean)
    monkeypatch.setattr(processes, "_grade_here", _dies_at_first)
    monkeypatch.setenv("DIED_BEFORE", str(tmp_path / "died"))
    settings = Settings(tmp_path / "out", jobs=2, confinement=QUICK)
    result = grade_class(toy_course, "toy", folder, settings)
    assert (tmp_path / "died").exists()
    assert [grade.points for grade in result.grades] == [90, 90, 90]


_grade_here = processes._grade_here


def _dies_at_first(job, task):
    """Stand in for a worker that the kernel kills."""
    mark = Path(os.environ["DIED_BEFORE"])
    if not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return _grade_here(job, task)
