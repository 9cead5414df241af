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


def by_set(printed: str) -> dict[str, str]:
    """Cut what is printed of each problem set, up to the next one, out of the whole."""
    _, *parts = re.split(r"^(ps\d+)$", printed, flags=re.MULTILINE)
    return dict(zip(parts[::2], parts[1::2], strict=True))


@pytest.mark.skipif("PYTEST_XDIST_WORKER" not in os.environ, reason="there is one worker only")
def test_builders_of_the_book_stay_on_one_worker(request):
    """Two builds at once spoil each other's pages, and a plug-in that cannot group is silent."""
    assert request.node.nodeid.endswith("@book")


def test_make_help_lists_the_commands_that_matter(request):
    listed = make("help")
    for target in (
        "course",
        "test",
        "serve",
        "lab",
        "lint",
        "types",
        "test-gpu",
        "bench",
        "clean",
        "pdf",
    ):
        assert re.search(rf"^  make {target} ", listed, flags=re.MULTILINE), target
    conftest = request.config.pluginmanager.get_plugin(str(ROOT / "conftest.py"))
    parts = {"package", *conftest.PARTS.values()}
    assert set(re.findall(r"^  make test-(\w+) +Its part ", listed, flags=re.MULTILINE)) == parts


@pytest.mark.exhaustive
@pytest.mark.sandbox
def test_make_course_does_the_main_job_and_the_second_time_only_looks():
    first = make("course")
    tables = by_set(first)
    assert len(tables) >= 8
    for table in tables.values():
        grades = points(table)
        assert grades["perfect"] == grades["perfect-but-different"] == max(grades.values()) > 0
        assert {grade for name, grade in grades.items() if name.startswith("attack-")} <= {0}
        mistaken = [n for name, n in grades.items() if name.startswith("typical-mistakes-")]
        assert mistaken and all(0 < grade < grades["perfect"] for grade in mistaken)
    everybody = points(tables["ps1"])
    assert len(everybody) + 2 == 20 and everybody["blank"] == 0
    assert len([name for name in everybody if name.startswith("attack-")]) == 3
    for unread in ("broken-file", "empty-file"):  # no grade, which is not 0 points
        assert re.search(rf"^{unread} +open  refused", tables["ps1"], flags=re.MULTILINE)

    for line in ("The book", "To students", "Feedback", "Gradebook"):
        shown = re.search(rf"^{line} +(\S+)", first, flags=re.MULTILINE)
        assert shown, f"{line} is not shown"
        assert Path(shown[1]).exists()

    second = by_set(make("course"))
    assert {name: points(table) for name, table in second.items()} == {
        name: points(table) for name, table in tables.items()
    }
    assert all("\n0 graded now, " in table for table in second.values())
