"""What an nbgrader course says in its own nbgrader_config.py."""

import json
import os
import time

import pytest
from click.testing import CliRunner
from sqlalchemy import make_url

from autograder.authoring.course import NbgraderCourse, nbgrader_course_in
from autograder.authoring.nbgrader_settings import cell_seconds, gradebook_address, read_config
from autograder.authoring.release import ReleasedSet
from autograder.cli.main import main
from autograder.records import GraderError
from tests.autograder import nbgrader_course as nb

MEAN = "def mean(numbers):\n    return sum(numbers) / len(numbers)"
OWN = """
c.CourseDirectory.root = "/srv/nowhere"
c.CourseDirectory.course_id = "course 101"
c.CourseDirectory.db_url = "sqlite:///points.db"
c.CourseDirectory.groupshared = True
c.CourseDirectory.source_directory = "masters"
c.CourseDirectory.submitted_directory = "handed_in"
c.CourseDirectory.autograded_directory = "marked"
c.CourseDirectory.feedback_directory = "returned"
c.ClearSolutions.begin_solution_delimeter = "VVVV"
c.ClearSolutions.end_solution_delimeter = "^^^^"
c.ClearSolutions.code_stub = {"python": "pass  # yours"}
c.ClearHiddenTests.begin_test_delimeter = "SECRET"
c.ClearHiddenTests.end_test_delimeter = "PUBLIC"
"""
MARKS = {
    "BEGIN SOLUTION": "VVVV",
    "END SOLUTION": "^^^^",
    "BEGIN HIDDEN TESTS": "SECRET",
    "END HIDDEN TESTS": "PUBLIC",
}


def configure(course, text):
    (course / "nbgrader_config.py").write_text(f"c = get_config()\n{text}")
    return course


@pytest.fixture
def course(tmp_path):
    return nb.make_course(tmp_path / "course")


@pytest.fixture
def own(tmp_path):
    """A course with other marks, other folders and another gradebook."""
    cells = []
    for grade_id, role, source in nb.CELLS:
        for usual, own in MARKS.items():
            source = source.replace(usual, own)
        cells.append((grade_id, role, source))
    course = nb.make_course(tmp_path / "own", cells=cells)
    (course / "source").rename(course / "masters")
    return configure(course, OWN)


def run(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def test_course_with_its_own_folders_marks_and_gradebook_is_graded(own, without_sandbox):
    stub = nb.hand_in(own, "bo")  # nothing but squares
    assert "pass  # yours" in stub.read_text()
    assert "SECRET" not in stub.read_text() and "squares(17)" not in stub.read_text()
    three = "def squares(n):\n    return [0, 1, 4]"
    nb.hand_in(own, "ada", mean__answer=MEAN, squares_answer=three)
    (own / "submitted").rename(own / "handed_in")
    old = os.umask(0o022)
    try:
        done = run("grade", "hw1", "--nbgrader", own, "--json")
    finally:
        os.umask(old)
    assert done.exit_code == 0, done.output
    points = {one["student"]: one["items"] for one in json.loads(done.stdout)["grades"]}
    assert points["ada"] == {"squares": 0, "mean-tests": 2, "share": 0}
    assert points["bo"] == {"squares": 4, "mean-tests": 0, "share": 4}
    page = (own / "returned/ada/hw1/hw1.html").read_text()
    assert "Here one does not hold." in page and "seventeenth" not in page  # a hidden test's words
    assert (own / "marked/ada/hw1/hw1.ipynb").is_file()
    assert (own / "points.db").stat().st_mode & 0o777 == 0o664  # groupshared
    assert not (own / "gradebook.db").exists()
    assert "ada" in run("--course", own, "export", "hw1").stdout


def test_settings_change_nothing_in_the_process_that_reads_them(course):
    """Those of our own course name it in the environment, for nbgrader's programs."""
    configure(
        course, "import os\nos.environ['AUTOGRADER_COURSE'] = 'elsewhere'\ndel os.environ['PATH']"
    )
    before = dict(os.environ)
    read_config(course)
    assert dict(os.environ) == before


def test_exchange_is_hidden_where_there_is_one(course, tmp_path):
    exchange = tmp_path / "exchange"
    configure(course, f"c.Exchange.root = {str(exchange)!r}\n")
    assert exchange not in NbgraderCourse(course).folders()
    exchange.mkdir()
    assert exchange in NbgraderCourse(course).folders()


def test_trial_in_another_folder_leaves_the_courses_own_pages(course, tmp_path, without_sandbox):
    away = tmp_path / "away"
    lines = ["c.CourseDirectory.feedback_directory = " + repr(str(away))]
    lines += ["c.CourseDirectory.autograded_directory = '../marked'"]
    configure(course, "\n".join(lines))
    nb.hand_in(course, "ada", mean__answer=MEAN)
    done = run("grade", "hw1", "--nbgrader", course, "--out", tmp_path / "trial")
    assert done.exit_code == 0, done.output
    assert not away.exists() and not (tmp_path / "marked").exists()
    assert (tmp_path / "trial/feedback/ada/hw1/hw1.html").is_file()
    assert (tmp_path / "trial/autograded/ada/hw1/hw1.ipynb").is_file()


def test_results_of_a_course_for_nbgrader_are_found_in_its_folder(course, without_sandbox):
    nb.hand_in(course, "ada", mean__answer=MEAN)
    assert run("grade", "hw1", "--nbgrader", course).exit_code == 0
    assert run("--course", course, "dashboard", "hw1").output.startswith(str(course))
    assert "4 of 4" in run("--course", course, "explain", "hw1", "ada", "squares").output


def test_adopted_set_has_nbgraders_own_marks(own, tmp_path, without_sandbox):
    made = run("--course", tmp_path / "mine", "adopt", "hw1", "squares", "--nbgrader", own)
    assert made.exit_code == 0, made.output
    text = (tmp_path / "mine/hw1/notebook.py").read_text()
    assert "### BEGIN SOLUTION" in text and "VVVV" not in text and "squares(17)" not in text


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("import no_such_module", "cannot be run: ModuleNotFoundError: No module named"),
        ("raise SystemExit('no')", "cannot be run: SystemExit: no"),
        ("c.CourseDirectory.db_url = 3", "'db_url' trait .* expected a unicode string"),
        (
            "c.CourseDirectory.directory_structure = '{assignment_id}/{nbgrader_step}'",
            "directory_structure is .*; only .* is understood here",
        ),
    ],
)
def test_settings_that_cannot_be_followed_are_refused(course, text, complaint):
    configure(course, text)
    with pytest.raises(GraderError, match=f"nbgrader_config.py.*{complaint}"):
        nbgrader_course_in(course)


def test_gradebook_on_a_server_keeps_its_address(course):
    address = "postgresql://grader@db/course"
    configure(course, f"c.CourseDirectory.db_url = {address!r}")
    assert gradebook_address(course) == address


@pytest.mark.parametrize(
    ("own", "address"),
    [
        ("grades.db?timeout=30", "{course}/grades.db?timeout=30"),
        ("file:grades.db?uri=true", "file:{course}/grades.db?uri=true"),
        ("file:/srv/grades.db?uri=true", "file:/srv/grades.db?uri=true"),
    ],
)
def test_gradebook_that_is_a_file_lies_in_the_course(course, own, address):
    configure(course, f"c.CourseDirectory.db_url = 'sqlite:///{own}'")
    found = make_url(gradebook_address(course))  # which writes a colon as %3A
    assert found == make_url(f"sqlite:///{address.format(course=course)}")


@pytest.mark.parametrize(("text", "seconds"), [("", 30), ("90", 90), ("None", 30), ("-1", 30)])
def test_cells_run_as_long_as_nbgrader_lets_them(course, text, seconds):
    configure(course, f"c.Execute.timeout = {text}" if text else "")
    assert cell_seconds(course) == seconds


def test_tests_that_nbgrader_makes_are_read_from_what_it_has_made(tmp_path):
    marked = ("squares", nb.tests(4), "### AUTOTEST squares(2)")
    course = nb.make_course(tmp_path, cells=[*nb.CELLS[:3], marked])
    source = course / "source/hw1/hw1.ipynb"
    command = "nbgrader generate_assignment hw1 --source_with_tests"
    advice = f"AUTOTEST lines in the cell squares: run `{command}`"
    with pytest.raises(GraderError, match=advice):
        ReleasedSet(NbgraderCourse(course), "hw1").notebooks  # noqa: B018
    made = nb.write(course / "source_with_tests/hw1/hw1.ipynb", nb.notebook(nb.CELLS[:4]))
    (check,) = ReleasedSet(NbgraderCourse(course), "hw1").problem_set.checks
    assert check.points == 4
    os.utime(made, (time.time() - 60,) * 2)  # older than the source: made of something else
    with pytest.raises(GraderError, match=advice):
        ReleasedSet(NbgraderCourse(course), "hw1").notebooks  # noqa: B018
    assert source.is_file()


@pytest.mark.parametrize(
    ("role", "source"),
    [
        (nb.LOCKED, "# AUTOTEST squares(2)\nimport math"),  # nbgrader, too, grades nothing here
        (nb.tests(4), "assert squares(1) == [0]  # AUTOTEST squares(2)"),
        (nb.tests(4), "# no longer an AUTOTEST\nassert squares(1) == [0]"),
    ],
)
def test_cells_that_only_mention_autotests_are_read(tmp_path, role, source):
    course = nb.make_course(tmp_path, cells=[*nb.CELLS[:4], ("mention", role, source)])
    (check, *_) = ReleasedSet(NbgraderCourse(course), "hw1").problem_set.checks
    assert check.item == "squares"
