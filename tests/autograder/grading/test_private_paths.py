import importlib
import sys
from types import SimpleNamespace

import pytest

from autograder.grading.private_paths import private_packages, repository


def notebook(*sources):
    return SimpleNamespace(
        cells=[SimpleNamespace(cell_type="code", source=source) for source in sources]
    )


@pytest.fixture
def installed(monkeypatch, tmp_path):
    """A folder on Python's path with packages that a course may load."""
    for name in ("reference/__init__.py", "given/__init__.py", "single.py"):
        (tmp_path / "packages" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "packages" / name).touch()
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path / "packages")])
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    importlib.invalidate_caches()
    importlib.import_module("single")
    yield tmp_path / "packages"
    del sys.modules["single"]


@pytest.fixture
def checks(tmp_path):
    (tmp_path / "checks.py").write_text(
        "import math, numpy, torch.nn\nfrom reference.part import answer\nimport given\n"
        "def later():\n    import single, nowhere\n"
    )
    return [tmp_path / "checks.py"]


def test_what_checks_load_is_private_and_what_students_are_given_is_not(checks, installed):
    found = set(private_packages(checks, notebook("import given", "%matplotlib inline")))
    assert {installed / "reference", installed / "single.py"} <= found
    assert set(installed.glob("__pycache__/single.*.pyc")) <= found != set()
    assert {path.name for path in found}.isdisjoint({"given", "numpy", "torch"})


def test_packages_installed_with_the_grader_are_private_even_where_students_are_told_of_them(
    checks,
):
    found = private_packages(checks, notebook("from course_pkg.text import corpora"))
    assert {"autograder", "course_pkg"} <= {path.name for path in found}


@pytest.mark.parametrize("mark", [".git/HEAD", "pyproject.toml"])
def test_repository_of_a_course_is_found_above_it(tmp_path, mark):
    course = tmp_path / "project/teaching/assignments"
    course.mkdir(parents=True)
    (tmp_path / "project" / mark).parent.mkdir(exist_ok=True)
    (tmp_path / "project" / mark).touch()
    assert repository(course) == tmp_path / "project"


def test_course_without_a_repository_stands_for_itself(tmp_path):
    assert repository(tmp_path) == tmp_path
