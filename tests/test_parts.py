"""The parts of the suite: each file is in exactly one, and nothing else of it is loaded."""

from pathlib import Path
from types import SimpleNamespace

import pytest

import conftest

ROOT = Path(__file__).parent.parent
FILES = [
    *ROOT.glob("tests/**/test_*.py"),
    *ROOT.glob("assignments/*/test_*.py"),
    *ROOT.glob("course_pkg/**/*.py"),
    *ROOT.glob("autograder/**/*.py"),
]


def collected(part):
    """The files that `pytest --part` does not leave out."""
    config = SimpleNamespace(getoption={"--part": part}.get)
    return {path for path in FILES if not conftest.pytest_ignore_collect(path, config)}


def test_each_file_is_in_exactly_one_part_and_the_makefile_has_each_part():
    (line,) = (
        line for line in (ROOT / "Makefile").read_text().splitlines() if line.startswith("PARTS ")
    )
    parts = line.split(":=")[1].split()
    assert set(parts) == {"package", *conftest.PARTS.values()}
    assert sorted(path for part in parts for path in collected(part)) == sorted(FILES)
    assert collected(None) == set(FILES)


@pytest.mark.parametrize(
    ("part", "folder"),
    [("grader", "tests/autograder"), ("sets", "assignments"), ("book", "tests/book")],
)
def test_part_is_the_folder_of_its_name(part, folder):
    inside = {path for path in FILES if path.is_relative_to(ROOT / folder)}
    assert inside and inside <= collected(part)
    assert not any(path.is_relative_to(ROOT / "course_pkg") for path in collected(part))
