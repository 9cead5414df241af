"""`nbgrader autograde` and formgrader's button, with our sandbox in the place of a kernel."""

import shutil
import sqlite3
from dataclasses import replace

import nbformat
import pytest
from nbgrader.api import Gradebook
from nbgrader.apps.api import NbGraderAPI
from nbgrader.coursedir import CourseDirectory
from nbgrader.utils import determine_grade, is_grade

from autograder.authoring.nbgrader_settings import read_config
from autograder.class_run import nbgrader_autograde
from autograder.grading import grader
from autograder.records import SandboxUnavailable
from autograder.store import gradebook as store
from tests.autograder import nbgrader_course as nb

# nbgrader's own way of adding a submission makes SQLAlchemy warn.
pytestmark = pytest.mark.filterwarnings("ignore::sqlalchemy.exc.SAWarning")

LINE = "c.Autograde.exporter_class = 'autograder.class_run.nbgrader_autograde.SandboxedExporter'\n"
MEAN = "def mean(numbers):\n    return sum(numbers) / len(numbers)"
BROKEN = ("broken", nb.tests(3), "import no_such_package\nassert squares(1) == [0]")


def prepare(folder, *settings, cells=nb.CELLS):
    """Make a course, and generate its assignment as nbgrader does."""
    course = nb.make_course(folder, cells=cells)
    (course / "nbgrader_config.py").write_text("".join(["c = get_config()\n", LINE, *settings]))
    with store.Gradebook(f"sqlite:///{course}/gradebook.db"):
        pass  # nbgrader itself makes one only where its programs are on the path
    done = formgrader(course).generate_assignment("hw1")
    assert done["success"], done
    return course


def formgrader(course):
    """Return what formgrader's buttons call, with the course's settings."""
    config = read_config(course)
    coursedir = CourseDirectory(config=config, root=str(course))
    return NbGraderAPI(coursedir, config=config)


def press(course, student):
    """Press formgrader's button; return what it says."""
    return formgrader(course).autograde("hw1", student)


def rows(course, student):
    query = (
        "select b.name, g.auto_score, g.manual_score, g.needs_manual_grade from grade g"
        " join base_cell b on b.id = g.cell_id"
        " join submitted_notebook m on m.id = g.notebook_id"
        " join submitted_assignment s on s.id = m.assignment_id where s.student_id = ?"
    )
    database = sqlite3.connect(course / "gradebook.db")
    return {row[0]: row[1:] for row in database.execute(query, [student])}


def autograded(course, student):
    return nbformat.read(course / f"autograded/{student}/hw1/hw1.ipynb", as_version=4)


@pytest.mark.sandbox
def test_button_runs_student_code_in_the_sandbox_and_leaves_what_nbgrader_would(tmp_path):
    course = prepare(tmp_path / "course")
    look = f"import pathlib\nassert not any(pathlib.Path({str(course)!r}).rglob('*'))\n{MEAN}"
    nb.hand_in(course, "ada", mean__answer=look, squares_answer="def squares(n):\n    return []")
    done = press(course, "ada")
    assert done["success"], done
    assert rows(course, "ada") == {
        "squares": (0, None, 0),
        "mean-tests": (2, None, 0),
        "share": (2, None, 0),
        "why": (0, None, 0),  # left as it was released
    }
    for cell in filter(is_grade, autograded(course, "ada").cells):  # nbgrader reads the same there
        assert determine_grade(cell)[0] == rows(course, "ada")[cell.metadata.nbgrader.grade_id][0]


@pytest.mark.slow
@pytest.mark.sandbox
def test_command_gives_the_points_that_it_gives_without_the_line(tmp_path, run_nbgrader):
    """nbgrader itself is the oracle."""
    course = prepare(tmp_path / "course")
    nb.hand_in(course, "ada", mean__answer=MEAN, why="Since it is so.")
    nb.hand_in(course, "bo", squares_answer="def squares(n):\n    return []", mean__answer="")
    theirs = course.with_name("theirs")
    shutil.copytree(course, theirs, ignore=shutil.ignore_patterns("nbgrader_config.py"))
    for folder in (course, theirs):
        run_nbgrader(folder, "autograde", "hw1")
    for student in ("ada", "bo"):
        assert rows(course, student) == rows(theirs, student)
    files = ["hw1.ipynb"]
    assert [path.name for path in (course / "autograded/ada/hw1").iterdir()] == files
    assert [path.name for path in (theirs / "autograded/ada/hw1").iterdir()] == files


def test_points_of_people_stay_and_they_are_asked_to_look_again(tmp_path, without_sandbox):
    course = prepare(tmp_path)
    nb.hand_in(course, "ada", mean__answer=MEAN)
    assert press(course, "ada")["success"]
    with Gradebook(f"sqlite:///{course}/gradebook.db") as book:
        book.find_grade("squares", "hw1", "hw1", "ada").manual_score = 3
        book.db.commit()
    assert press(course, "ada")["success"]
    assert rows(course, "ada")["squares"] == (4, 3, 1)


def test_cell_that_the_courses_own_solution_fails_is_left_to_people(tmp_path, without_sandbox):
    course = prepare(tmp_path, cells=[*nb.CELLS, BROKEN])
    nb.hand_in(course, "ada", mean__answer=MEAN)
    done = press(course, "ada")
    assert "hw1: broken is left for people to grade" in done["log"]
    assert rows(course, "ada")["broken"] == (None, None, 1)


def test_cell_that_a_student_removed_is_graded_all_the_same(tmp_path, without_sandbox):
    course = prepare(tmp_path)
    nb.hand_in(course, "ada", mean__answer=MEAN, squares="")
    assert press(course, "ada")["success"]
    assert rows(course, "ada")["squares"] == (4, None, 0)


def test_file_name_that_nbgrader_cannot_read_stops_nobody_else(tmp_path, without_sandbox):
    course = prepare(tmp_path)
    paths = [nb.hand_in(course, student, mean__answer=MEAN) for student in ("ada", "bo")]
    paths[1].rename(paths[1].with_name("a\nb.ipynb"))
    assert press(course, "*")["success"] is False
    assert rows(course, "ada")["mean-tests"] == (2, None, 0)
    assert {score for score, *_ in rows(course, "bo").values()} == {None}


def test_tampering_is_named_and_nothing_counts_before_somebody_has_looked(
    tmp_path, without_sandbox, monkeypatch
):
    course = prepare(tmp_path)
    nb.hand_in(course, "ada", mean__answer=MEAN)
    run = grader.Sandbox.run

    def tampered(*arguments):
        return replace(run(*arguments), tampered=True)

    monkeypatch.setattr(grader.Sandbox, "run", tampered)
    done = press(course, "ada")
    assert "tampering" in done["log"]
    assert rows(course, "ada")["squares"] == (None, None, 1)


def test_without_a_sandbox_nothing_is_run_and_what_was_there_stays(
    tmp_path, without_sandbox, monkeypatch
):
    course = prepare(tmp_path)
    nb.hand_in(course, "ada", mean__answer=MEAN)
    assert press(course, "ada")["success"]
    before = rows(course, "ada"), autograded(course, "ada")

    def none_here(*arguments):
        raise SandboxUnavailable("no tier holds on this machine")

    monkeypatch.setattr(grader.Sandbox, "__enter__", none_here)
    nb.hand_in(course, "ada")
    done = press(course, "ada")
    assert not done["success"]
    assert "no tier holds on this machine. Nothing was run or changed" in done["log"]
    assert (rows(course, "ada"), autograded(course, "ada")) == before


def test_without_execution_no_sandbox_is_needed(tmp_path, monkeypatch):
    """As `nbgrader autograde --no-execute` sets it."""
    course = prepare(tmp_path, "c.Execute.enabled = False\n")
    nb.hand_in(course, "ada")

    def none_here(*arguments):
        raise SandboxUnavailable("no tier holds on this machine")

    monkeypatch.setattr(grader.Sandbox, "__enter__", none_here)
    done = press(course, "ada")
    assert done["success"], done
    assert rows(course, "ada")["mean-tests"] == (2, None, 0)  # nbgrader's points for no output


def test_submissions_are_hidden_where_this_run_reads_them(tmp_path, without_sandbox, monkeypatch):
    """Also where the command line names another folder than the course's settings."""
    course = prepare(tmp_path / "course")
    nb.hand_in(course, "ada", mean__answer=MEAN)
    elsewhere = (course / "submitted").rename(tmp_path / "elsewhere")
    api, hidden = formgrader(course), []
    api.coursedir.submitted_directory = str(elsewhere)

    def noted(released, confinement):
        hidden.extend(confinement.private)
        return grader.Grader(released, confinement)

    monkeypatch.setattr(nbgrader_autograde, "Grader", noted)
    done = api.autograde("hw1", "ada")
    assert done["success"], done
    assert elsewhere in hidden


def test_tests_that_nbgrader_has_not_recorded_are_refused(tmp_path, without_sandbox):
    course = prepare(tmp_path)
    nb.hand_in(course, "ada")
    cells = [*nb.CELLS[:5], ("mean-tests", nb.tests(2), "assert mean([1]) == 1"), *nb.CELLS[6:]]
    nb.make_course(course, cells=cells)
    done = press(course, "ada")
    assert not done["success"]
    assert "is not what nbgrader has recorded (mean-tests): run `nbgrader gen" in done["log"]


def test_steps_without_an_execution_to_replace_are_refused(tmp_path, without_sandbox):
    course = prepare(tmp_path, "c.Autograde.autograde_preprocessors = []\n")
    nb.hand_in(course, "ada")
    assert "has no Execute, which the sandbox replaces" in press(course, "ada")["log"]


def test_name_that_is_markup_never_enters_the_gradebook(tmp_path, without_sandbox):
    course = prepare(tmp_path)
    nb.hand_in(course, "<img src=x onerror=owned()>")
    nb.hand_in(course, "ada")
    done = formgrader(course).autograde("hw1", "*")
    assert "rename the folder" in done["log"] and not done["success"]
    with Gradebook(f"sqlite:///{course}/gradebook.db") as book:
        assert [student.id for student in book.students] == ["ada"]
    assert rows(course, "ada")["squares"][0] == 4
