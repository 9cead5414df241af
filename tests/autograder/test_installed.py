# ruff: noqa: E501 - a cell's metadata stands on one line
"""The grader on its own: from the wheel, outside this repository, without torch."""

import csv
import importlib.metadata
import io
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

from tests.autograder import nbgrader_course as nb

ROOT = Path(__file__).parents[2]
NAME = "language-models-by-hand"
_CELL = '"schema_version": 3, "task": false'
SOURCE = f"""\
# %% nbgrader={{"grade": false, "grade_id": "imports", "locked": true, "solution": false, {_CELL}}}
import numpy as np

# %% nbgrader={{"grade": false, "grade_id": "unit_answer", "locked": false, "solution": true, {_CELL}}}
def unit(vector):
    ### BEGIN SOLUTION
    return vector / np.linalg.norm(vector)
    ### END SOLUTION

# %% nbgrader={{"grade": true, "grade_id": "unit", "locked": true, "points": 100, "solution": false, {_CELL}}}
assert unit(np.array([3.0, 4.0])).tolist() == [0.6, 0.8], "divide by the length"
"""
CHECKS = """\
import numpy as np
from autograder.authoring.checks import Case, Check, Part, ProblemSet

def draw(rng):
    return [Case(f"{n} numbers", {"vector": rng.normal(size=n)}) for n in (2, 5)]

def reference(vector):
    return vector / np.sqrt((vector**2).sum())

def ask(implementation, inputs):
    return implementation(inputs["vector"])

parts = (Part("length", "The length is 1.", draw, ask),)
PROBLEM_SET = ProblemSet("vectors", "Vectors", (Check("unit", 100, "unit", reference, parts),))
"""


def _link(source, target):
    try:
        os.link(source, target)
    except OSError:  # on another file system
        shutil.copy2(source, target)


def _write_course(folder):
    (folder / "vectors").mkdir(parents=True)
    (folder / "vectors" / "notebook.py").write_text(SOURCE)
    (folder / "vectors" / "problem_set.py").write_text(CHECKS)


def _run(command, **options):
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, **options)


@pytest.fixture(scope="module")
def autograder(tmp_path_factory, required_by):
    """A fresh environment with nothing but the wheel and what its extra asks for; run a command."""
    if int(importlib.metadata.version("setuptools").partition(".")[0]) < 77:
        pytest.skip("setuptools 77 or newer builds the wheel")
    folder = tmp_path_factory.mktemp("installed")
    sources, home = folder / "sources", folder / "environment"
    for name in ("autograder", "course_pkg"):
        ignored = shutil.ignore_patterns("__pycache__", "checkpoints")
        shutil.copytree(ROOT / name, sources / name, ignore=ignored)
    for name in ("pyproject.toml", "README.md"):
        shutil.copy(ROOT / name, sources)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    built = _run([*pip, "wheel", "--no-deps", "--no-build-isolation", "-w", folder, sources])
    assert built.returncode == 0, built.stderr
    venv.create(home, symlinks=True)
    packages = sysconfig.get_path("purelib", vars={"base": home, "platbase": home})
    done = _run(
        [*pip, "--python", home / "bin" / "python", "install", "--no-deps", *folder.glob("*.whl")]
    )
    assert done.returncode == 0, done.stderr
    (project,) = importlib.metadata.distributions(name=NAME, path=[packages])
    for distribution in required_by(project.requires, "grader"):
        for file in distribution.files or ():
            if ".." not in file.parts and file.suffix != ".pyc":
                target = Path(packages, file)
                target.parent.mkdir(parents=True, exist_ok=True)
                if not target.exists():
                    _link(file.locate(), target)
    course = folder / "elsewhere" / "assignments"
    _write_course(course)
    clean = {"PATH": os.environ["PATH"], "HOME": str(folder)}

    def run(*words, program="autograder", at=course.parent):
        command = [home / "bin" / program, *words]
        return _run(command, cwd=at, env=clean)

    return run


@pytest.mark.slow
def test_course_of_numpy_is_released_checked_and_graded_without_torch(autograder, tmp_path):
    found = autograder("-c", "import autograder; print(autograder.__file__)", program="python")
    assert "environment" in found.stdout and str(ROOT) not in found.stdout
    assert "No module named 'torch'" in autograder("-c", "import torch", program="python").stderr
    assert "Usage: autograder" in autograder("--help").stdout

    out = tmp_path / "out"
    released = autograder("release", "vectors", "--out", out)
    assert released.returncode == 0, released.stderr
    checked = autograder("check", "vectors", "--no-mutants")
    assert checked.returncode in (0, 4), checked.stderr  # so small a set has no mistakes recorded
    handed_in = tmp_path / "submissions"
    handed_in.mkdir()
    for student, version in (("ada", "solution"), ("bo", "release")):
        made = out / version / "vectors" / "vectors.ipynb"
        shutil.copy(made, handed_in / f"{student}.ipynb")
    words = ("vectors", "--submissions", handed_in, "--out", out)
    graded = autograder("grade", *words)
    if graded.returncode == 3:
        graded = autograder("grade", *words, "--no-sandbox")
    assert graded.returncode == 0, graded.stderr
    rows = csv.DictReader(io.StringIO(autograder("export", "vectors", "--out", out).stdout))
    assert {row["student_id"]: row["score"] for row in rows} == {"ada": "100.0", "bo": "0.0"}


@pytest.mark.slow
def test_course_begins_in_an_empty_folder(autograder, tmp_path):
    total = "def total(path):\n    ### BEGIN SOLUTION\n    return sum(map(int, open(path)))\n"
    cells = [
        *nb.CELLS[:6],
        ("total_answer", nb.ANSWER, f"{total}    ### END SOLUTION"),
        ("total", nb.tests(1), "assert total('numbers.txt') == 3"),
    ]
    theirs = nb.make_course(tmp_path / "theirs", cells=cells)
    (theirs / "source/hw1/numbers.txt").write_text("1\n2\n")
    for name in ("new", "adopted"):
        (tmp_path / name).mkdir()
    made = autograder("new", "hw9", at=tmp_path / "new")
    assert made.returncode == 0, made.stderr
    checked = autograder("check", "hw9", "--no-mutants", at=tmp_path / "new")
    assert checked.returncode == 0, checked.stdout + checked.stderr
    made = autograder("adopt", "hw1", "--nbgrader", theirs, at=tmp_path / "adopted")
    if made.returncode != 3:  # there is a sandbox here
        assert made.returncode == 0 and "adopted 3 of 3 test cells" in made.stdout, made.stderr
        assert "handed out beside the notebook: numbers.txt" in made.stdout
        for command in ("release", "work"):
            assert autograder(command, "hw1", at=tmp_path / "adopted").returncode == 0
        for place in ("_build/course/release", "work"):
            assert (tmp_path / "adopted" / place / "hw1/numbers.txt").read_text() == "1\n2\n"
    assert "course of their own" in autograder("new", "hw9", at=theirs).stderr


@pytest.mark.parametrize(
    ("missing", "words", "extra"),
    [
        ("click", "--help", "grader"),
        ("nbgrader", "release vectors", "grader"),
        ("rich", "doctor", "grader"),
        ("psycopg", "export vectors --db postgresql://somebody@localhost/grades", "postgres"),
    ],
)
def test_missing_package_is_one_line_that_says_what_to_install(tmp_path, missing, words, extra):
    (tmp_path / "sitecustomize.py").write_text(f"import sys\nsys.modules[{missing!r}] = None\n")
    _write_course(tmp_path / "assignments")
    found = _run(
        [sys.executable, "-m", "autograder", *words.split()],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": f"{tmp_path}:{ROOT}"},
    )
    assert found.returncode == 1
    assert found.stderr == (
        f"error: this needs {missing}, which is not installed: pip install '{NAME}[{extra}]'\n"
    )
