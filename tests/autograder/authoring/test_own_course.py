"""An instructor brings a course whose notebooks read files, import helpers and show pictures.

In an empty folder it is adopted, released and graded as the guide says; the points are those that
nbgrader itself gives, entry by entry, and those that its test cells get here as they are.
"""

import json
import shutil

import pytest
from click.testing import CliRunner

from autograder.authoring.course import NbgraderCourse, find_course
from autograder.authoring.release import ReleasedSet
from autograder.cli.main import main
from autograder.cli.options import FINDINGS
from tests.autograder import nbgrader_course as nb
from tests.autograder.authoring.courses_with_files import COURSES
from tests.autograder.class_run.test_nbgrader_course import auto_scores


def wrong(source):
    """An answer that defines what is asked for, and gets everything wrong."""
    kind = nb.solution(source).split()[0]
    if kind == "class":
        return f"{source.splitlines()[0]}\n    def __init__(self, path):\n        self.rows = []"
    return f"{source.splitlines()[0]}\n    return 'wrong'" if kind == "def" else f"{kind} = -1"


def students(cells):
    """Answers, cell by cell: all right, all wrong, none, and every other one wrong."""
    answers = [(name, source) for name, role, source in cells if role == nb.ANSWER]
    right = {name: nb.solution(source) for name, source in answers}
    mistaken = {name: wrong(source) for name, source in answers}
    yield "right", right
    yield "wrong", mistaken
    yield "empty", {}
    for first in (0, 1):
        yield f"wrong from {first}", right | dict([*mistaken.items()][first::2])


def hand_in(released, path, answers):
    notebook = released.notebooks.student
    for cell in notebook.cells:
        cell.source = answers.get(cell.id, cell.source)
    nb.write(path, notebook)


def write_course(folder, files, notebooks):
    for name, cells in notebooks.items():
        nb.write(folder / f"source/hw1/{name}.ipynb", nb.notebook(cells))
    for name, data in files.items():
        (folder / "source/hw1" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "source/hw1" / name).write_bytes(data)
    return folder


@pytest.mark.exhaustive
@pytest.mark.sandbox
@pytest.mark.parametrize("name", COURSES)
def test_course_with_files_is_adopted_and_earns_what_nbgrader_gives(
    tmp_path, monkeypatch, run_nbgrader, name
):
    files, notebooks, reasons = COURSES[name]
    theirs = write_course(tmp_path / "theirs", files, notebooks)
    ours = tmp_path / "ours"
    ours.mkdir()
    monkeypatch.chdir(ours)

    def run(*words, code=0):
        done = CliRunner().invoke(main, list(map(str, words)))
        assert done.exit_code in (code, 0), done.output
        return done

    adopting = ("adopt", "--nbgrader", theirs, "--rest-ungraded")
    earned, left, n_cells = {}, {}, 0
    for notebook, cells in notebooks.items():
        made = json.loads(run(*adopting, f"hw1+{notebook}", "--json", code=FINDINGS).stdout)
        assert made["files"] == sorted(files) and not made["left_out"]
        left |= made["left"]
        n_cells += len(made["calls"]) + len(made["left"])
        own = f"hw1_{notebook}"
        adopted = ReleasedSet(find_course(), own)
        (checked,) = json.loads(run("check", own, "--no-mutants", "--json", code=FINDINGS).stdout)
        assert all(" needs at least " in problem for problem in checked["problems"]), checked
        run("release", own)
        for file, data in files.items():
            assert (ours / f"_build/course/release/{own}" / file).read_bytes() == data
        released = ReleasedSet(NbgraderCourse(theirs), f"hw1+{notebook}")
        for student, answers in students(cells):
            hand_in(released, theirs / f"submitted/{student}/hw1/{notebook}.ipynb", answers)
            hand_in(adopted, ours / f"class_{notebook}/{student}.ipynb", answers)
        graded = run("grade", own, "--submissions", ours / f"class_{notebook}", "--json")
        for one in json.loads(graded.stdout)["grades"]:
            for item, points in one["items"].items():
                earned[one["student"], notebook, item] = points
    assert left.keys() == reasons.keys()
    for cell, words in reasons.items():
        assert words in left[cell]

    by_nbgrader = tmp_path / "by nbgrader"
    shutil.copytree(theirs, by_nbgrader)
    run_nbgrader(by_nbgrader, "generate_assignment", "hw1")
    run_nbgrader(by_nbgrader, "autograde", "hw1")
    run("grade", "hw1", "--nbgrader", theirs)
    scores = auto_scores(by_nbgrader)
    assert auto_scores(theirs) == scores
    assert earned == {entry: scores[entry] for entry in earned}
    assert {student for student, *_ in earned} >= {"right", "wrong", "empty"}
    print(f"{name}: {n_cells - len(left)} of {n_cells} cells adopted, {len(earned)} entries equal")
