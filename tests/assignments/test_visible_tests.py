"""What runs in a student's repository on GitHub tells right, wrong and blank work apart."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
import yaml

from autograder.authoring.course import find_course
from autograder.authoring.notebooks import as_text, is_answer
from autograder.authoring.release import ReleasedSet
from tests.autograder.conftest import make_toy_course

ROOT = Path(__file__).parents[2]
EDITION = find_course(ROOT / "assignments").own_edition
WORKFLOW = EDITION / ".github" / "workflows" / "visible-tests.yml"


def steps():
    (job,) = yaml.safe_load(WORKFLOW.read_text("utf-8"))["jobs"].values()
    return job["steps"]


@pytest.fixture
def repository(tmp_path):
    """A repository with the toy set solved, solved with a mistake, half solved and untouched."""
    place = tmp_path / "repository"
    place.mkdir()
    shutil.copy(EDITION / "visible_tests.py", place)
    released = ReleasedSet(make_toy_course(tmp_path / "course"), "toy").notebooks
    stubs = {cell.id: cell.source for cell in released.student.cells}
    answers = {cell.id: cell.source for cell in released.solution.cells if is_answer(cell)}
    for name in ("right", "wrong", "begun", "blank"):
        notebook = nbformat.reads(as_text(released.student), as_version=4)
        for cell in notebook.cells if name != "blank" else ():
            cell.source = answers.get(cell.id, cell.source)
            if name == "begun" and "2 * number" in cell.source:
                cell.source = stubs[cell.id]
            if name == "wrong":
                cell.source = cell.source.replace("2 * number", "3 * number")
        (place / "work" / name).mkdir(parents=True)
        (place / "work" / name / f"{name}.ipynb").write_text(as_text(notebook), "utf-8")
    return place


def run(repository, *words):
    """Run the workflow's last step as GitHub would."""
    python, *command = steps()[-1]["run"].split()
    assert python == "python"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, *command, *words]
    done = subprocess.run(command, cwd=repository, env=environment, capture_output=True, text=True)
    return done.returncode, done.stdout


def test_right_wrong_and_blank_work_are_told_apart(repository):
    status, said = run(repository)
    assert status == 1
    assert "right: 2 of 2 visible tests pass" in said and "blank: nothing written yet" in said
    assert "wrong: 1 of 2 visible tests pass\n  toy_double: AssertionError: double every" in said
    assert "begun: 1 of 2 visible tests pass\n  toy_double: not written yet\n" in said
    shutil.rmtree(repository / "work" / "wrong")
    status, said = run(repository, "right", "blank")
    assert status == 0, said


def test_repository_without_work_passes_and_a_name_that_is_none_does_not(repository):
    shutil.rmtree(repository / "work")
    assert run(repository) == (0, "")
    status, said = run(repository, "ps1")
    assert status == 1 and "work/ps1/ps1.ipynb is not there; python work.py" in said


def test_workflow_installs_what_the_edition_has_and_may_only_read():
    used = [step.get("run", "") for step in steps()]
    assert (EDITION / "requirements.txt").is_file() and "pip install -r requirements.txt" in used[
        -2
    ]
    assert yaml.safe_load(WORKFLOW.read_text("utf-8"))["permissions"] == {"contents": "read"}
    (version,) = (
        s["with"]["python-version"] for s in steps() if "python-version" in s.get("with", {})
    )
    assert version in ("3.11", "3.12", "3.13")
