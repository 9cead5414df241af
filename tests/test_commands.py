"""The README's commands, run as written."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
# The environment stands already, or this test would not run; -o tells make not to set it up again.
VENV = Path(sys.prefix)


def make(*targets: str) -> str:
    """Run make and return what it printed."""
    command = ["make", "-o", f"{VENV}/installed", f"VENV={VENV}", f"PYTHON={sys.executable}"]
    environment = {**os.environ, "NO_COLOR": "1", "COLUMNS": "150"}
    run = subprocess.run(
        [*command, *targets], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stdout[-6000:] + run.stderr[-6000:]
    return run.stdout


def points(table: str) -> dict[str, float]:
    """Read students and points off the table of grades."""
    rows = re.findall(r"^ *([\w-]+) +([\d.]+) of [\d.]+ ", table, flags=re.MULTILINE)
    return {student: float(number) for student, number in rows}


@pytest.mark.skipif("PYTEST_XDIST_WORKER" not in os.environ, reason="there is one worker only")
def test_builders_of_the_book_stay_on_one_worker(request):
    """Two builds at once spoil each other's pages, and a plug-in that cannot group is silent."""
    assert request.node.nodeid.endswith("@book")


def test_make_help_lists_the_commands_that_matter():
    listed = make("help")
    for target in ("course", "test", "serve", "lab", "lint", "types", "test-gpu", "bench", "clean"):
        assert re.search(rf"^  make {target} ", listed, flags=re.MULTILINE), target


@pytest.mark.slow
@pytest.mark.sandbox
def test_make_course_does_the_main_job_and_the_second_time_only_looks():
    first = make("course")
    grades = points(first)
    assert len(grades) >= 8
    assert grades["perfect"] == grades["perfect-but-different"] == max(grades.values()) > 0
    assert grades["blank"] == 0
    for unread in ("broken-file", "empty-file"):  # no grade, which is not 0 points
        assert re.search(rf"^{unread} +open  refused", first, flags=re.MULTILINE)
    attacks = {name: grade for name, grade in grades.items() if name.startswith("attack-")}
    assert attacks
    assert set(attacks.values()) == {0}
    mistaken = [grade for name, grade in grades.items() if name.startswith("typical-mistakes-")]
    assert len(mistaken) >= 3
    assert all(0 < grade < grades["perfect"] for grade in mistaken)

    for line in ("The book", "To students", "Feedback", "Gradebook"):
        shown = re.search(rf"^{line} +(\S+)", first, flags=re.MULTILINE)
        assert shown, f"{line} is not shown"
        assert Path(shown[1]).exists()

    second = make("course")
    assert points(second) == grades
    n_received = len(grades) + 2
    assert f"0 graded now, {n_received} taken over from an earlier run" in second
