"""An ordinary nbgrader course, with assertions in locked cells and no checks."""

import errno
import json
import os
import re
import shlex
import shutil
import sqlite3
from dataclasses import replace
from functools import partial
from pathlib import Path

import nbformat
import nbgrader
import pytest
from click.testing import CliRunner
from nbgrader.utils import determine_grade, is_grade

from autograder.authoring.course import Course, NbgraderCourse, find_course
from autograder.authoring.locked_tests import run_tests
from autograder.authoring.release import ReleasedSet
from autograder.authoring.release import write as write_release
from autograder.class_run.own_solution import with_working_tests
from autograder.cli.main import main
from autograder.grading.grader import Confinement, Grader, Task
from autograder.grading.locked_judge import LockedJudge
from autograder.inside.messages import Failure
from autograder.inside.process_limits import Limits
from autograder.intake.collection import collect
from autograder.intake.repair import repair
from autograder.records import GraderError, Observation, State, Submission
from autograder.store.gradebook import Gradebook
from tests.autograder import nbgrader_course as nb

MEAN = "def mean(numbers):\n    return sum(numbers) / len(numbers)"


@pytest.fixture
def course(tmp_path):
    return nb.make_course(tmp_path / "for nbgrader")


def graded(course, name, path):
    released = ReleasedSet(NbgraderCourse(course), name)
    submission = Submission("ada", name, path.read_bytes(), "")
    with Grader(released, Confinement()) as grader:
        return grader.grade(Task(submission, "key", 0)).grade


def points(grade):
    return {verdict.item: verdict.points for verdict in grade.verdicts}


def auto_scores(course):
    """Read the points of each student, notebook and cell, as nbgrader stores them."""
    rows = sqlite3.connect(course / "gradebook.db").execute(
        "select s.student_id, n.name, b.name, g.auto_score from grade g"
        " join base_cell b on b.id = g.cell_id"
        " join submitted_notebook m on m.id = g.notebook_id"
        " join notebook n on n.id = m.notebook_id"
        " join submitted_assignment s on s.id = m.assignment_id"
    )
    return {tuple(row[:3]): row[3] for row in rows}


def grade(folder, *options):
    return CliRunner().invoke(main, ["grade", "hw1", "--nbgrader", str(folder), *options])


# ------------------------------------------------------------------ what a cell is worth
@pytest.mark.parametrize(
    ("first", "between", "then"),
    [
        # Bound by the cell itself before it reads it.
        ("result = squares(3)", "", "result = twice(2)\nassert result == 4"),
        ("result = squares(3)\nn = 2", "", "assert twice(n) == 4"),
        ("x = squares(3)", "", "assert [twice(x) for x in [1]] == [2]"),
        ("x = squares(3)", "", "def of(x):\n    return twice(x)\nassert of(1) == 2"),
        ("i = squares(3)", "", "for i in [1]:\n    assert twice(i) == 2"),
        ("f = squares(3)", "", "with open(os.devnull) as f:\n    assert f.read() == ''"),
        ("import os.path as p, math", "", "assert p.join('a') and math.inf and twice(1) == 2"),
        # What an earlier cell binds and a later one, of no tests, binds again.
        ("n = 1", "n = 2", "assert twice(n) == 4"),
        # Bound where it may not run, and in each way of binding.
        ("n = 2", "", "if twice(1) == 0:\n    n = 0\nassert twice(n) == 4"),
        ("n: int = 1\nn += 1", "", "assert twice(n) == 4"),
        ("for n in [1, 2]:\n    pass", "", "assert twice(n) == 4"),
        ("try:\n    import nothing\nexcept ImportError:\n    n = 2", "", "assert twice(n) == 4"),
        ("squares(3)\nasync def two():\n    return 2", "", "assert twice(await two()) == 4"),
    ],
)
def test_right_answer_loses_nothing_to_an_earlier_task_that_is_unsolved(
    tmp_path, first, between, then
):
    squares = "def squares(n):\n    ### BEGIN SOLUTION\n    return n * n\n    ### END SOLUTION"
    cells = [
        ("imports", nb.LOCKED, "import os"),
        ("squares_answer", nb.ANSWER, squares),
        ("first", nb.tests(1), first),
        ("between", nb.LOCKED, between or "pass"),
        ("twice_answer", nb.ANSWER, squares.replace("squares", "twice")),
        ("then", nb.tests(2), then),
    ]
    course = NbgraderCourse(nb.make_course(tmp_path, cells=cells))
    _, check = ReleasedSet(course, "hw1").problem_set.checks
    (case,) = check.parts[0].inputs(None)
    namespace = {"os": os, "squares": _unsolved, "twice": lambda n: 2 * n}
    exec(between, namespace)
    assert run_tests(namespace, case.inputs) == (0, "", None)


def _unsolved(n):
    raise NotImplementedError


@pytest.mark.parametrize(
    ("answers", "earned"),
    [
        ({"mean__answer": MEAN}, {"squares": 4, "mean-tests": 2, "share": 4}),
        ({"mean__answer": "pass"}, {"squares": 4, "mean-tests": 0, "share": 4}),
        # Partial credit, as nbgrader gives it: the number that the cell ends with.
        (
            {"squares_answer": "def squares(n):\n    return []"},
            {"squares": 0, "mean-tests": 2, "share": 2},
        ),
        # Whatever is raised ends the cell.
        (
            {"squares_answer": "def squares(n):\n    raise SystemExit"},
            {"squares": 0, "mean-tests": 2, "share": 0},
        ),
        # Cells that are gone are put back, and locked ones read as they were released.
        (
            {"squares": "", "mean-tests": "pass", "share": "4"},
            {"squares": 4, "mean-tests": 2, "share": 4},
        ),
    ],
)
def test_points_are_nbgraders(course, answers, earned, without_sandbox):
    answers = {"mean__answer": MEAN} | answers
    grade = graded(course, "hw1", nb.hand_in(course, "ada", **answers))
    assert points(grade) == earned


def test_student_reads_the_authors_words_of_a_visible_test_and_none_of_a_hidden_one(
    course, without_sandbox
):
    def said(squares):
        path = nb.hand_in(course, "ada", squares_answer=squares, mean__answer=MEAN)
        return graded(course, "hw1", path).verdicts[0].parts[0].message

    assert said("def squares(n):\n    return n").endswith("squares(3) is [0, 1, 4].")
    hidden = said("def squares(n):\n    return [0, 1, 4]")
    assert hidden == "The tests of this task pass. Here one does not hold."
    stranger = "class Seventeen(Exception): pass\n\ndef squares(n):\n    raise Seventeen(n)"
    assert said(stranger).endswith("they stop: an exception is raised.")


def test_hand_graded_cell_is_open_or_blank_as_under_nbgrader(course):
    released = ReleasedSet(NbgraderCourse(course), "hw1")
    stub = next(cell.source for cell in released.notebooks.student.cells if cell.id == "why")
    for text, blank in ((stub, {"why"}), ("Since it is so.", set())):
        path = nb.hand_in(course, "ada", why=text)
        assert repair(path.read_bytes(), released).blank == blank


# ------------------------------------------------------------------ what a source may be
def test_course_is_told_from_one_with_checks(course, toy_course, tmp_path):
    assert find_course(course) == NbgraderCourse(course)
    assert type(find_course(toy_course.folder)) is Course
    with pytest.raises(GraderError, match=r"not a course folder.*source/<assignment>/<notebook>"):
        find_course(tmp_path)


def test_what_stands_in_an_answer_is_looked_at_as_by_nbgrader_and_leaks_nowhere(tmp_path):
    """nbgrader looks for marks of schemes and tests where answers are gone, and finds none."""
    scheme = "=== BEGIN MARK SCHEME ===\nsays robust\n=== END MARK SCHEME ==="
    hidden = "### BEGIN HIDDEN TESTS\nassert mine == 1\n### END HIDDEN TESTS"
    cells = [
        ("mine", nb.ANSWER, f"### BEGIN SOLUTION\nmine = 1\n{hidden}\n### END SOLUTION"),
        ("why", nb.CELLS[-1][1], f"{scheme}\nYOUR ANSWER HERE"),
    ]
    made = ReleasedSet(NbgraderCourse(nb.make_course(tmp_path, cells=cells)), "hw1").notebooks
    for version in (made.student, made.solution):
        assert not re.search("robust|assert mine|MARK|HIDDEN", str(version))
    assert made.solution.cells[0].source.strip() == "mine = 1"


def test_tasks_under_one_heading_bear_the_names_of_their_cells(course):
    titles = ReleasedSet(NbgraderCourse(course), "hw1").outline.titles
    assert titles == {name: f"Homework 1: {name}" for name in titles} and len(titles) == 4


def test_notebooks_of_an_assignment_are_sets(course):
    nb.write(course / "source/hw1/extra.ipynb", nb.notebook())
    nb.write(course / "source/hw1/.ipynb_checkpoints/hw1.ipynb", nb.notebook())
    assert NbgraderCourse(course).of_assignment("hw1") == ("hw1", "hw1+extra")
    with pytest.raises(GraderError, match=r"no assignment 'hw2' in .*; it has: hw1"):
        NbgraderCourse(course).of_assignment("hw2")
    with pytest.raises(GraderError, match=r"no notebook 'hw2' in .*; it has: hw1, hw1\+extra"):
        NbgraderCourse(course).source("hw2")


@pytest.mark.parametrize(
    ("cells", "metadata", "complaint"),
    [
        ([nb.CELLS[3], nb.CELLS[3]], {}, "Duplicate grade id: squares"),
        (
            nb.CELLS,
            {"kernelspec": {"name": "ir", "display_name": "R", "language": "R"}},
            "a notebook in R; this grader runs Python",
        ),
        (
            [("squares", nb.tests(1), "### BEGIN HIDDEN TESTS\npass")],
            {},
            "No end hidden tests statement found",
        ),
    ],
)
def test_source_that_cannot_be_graded_is_refused(tmp_path, cells, metadata, complaint):
    course = nb.make_course(tmp_path, cells=cells, **metadata)
    with pytest.raises(GraderError, match=complaint) as refusal:
        ReleasedSet(NbgraderCourse(course), "hw1").notebooks.student  # noqa: B018
    assert str(course / "source/hw1/hw1.ipynb") in str(refusal.value)


def test_source_that_is_no_notebook_is_refused(course):
    (course / "source/hw1/hw1.ipynb").write_text("{")
    with pytest.raises(GraderError, match=r"hw1.ipynb cannot be read: .*JSON"):
        ReleasedSet(NbgraderCourse(course), "hw1").notebooks.student  # noqa: B018


def test_source_of_an_older_format_is_read(course, without_sandbox):
    path = course / "source/hw1/hw1.ipynb"
    plain = json.loads(path.read_text()) | {"nbformat_minor": 2}
    for cell in plain["cells"]:
        del cell["id"]
        if "nbgrader" in cell["metadata"]:
            cell["metadata"]["nbgrader"]["schema_version"] = 1
            del cell["metadata"]["nbgrader"]["task"]
    path.write_text(json.dumps(plain))
    grade = graded(course, "hw1", nb.hand_in(course, "ada", mean__answer=MEAN))
    assert points(grade) == {"squares": 4, "mean-tests": 2, "share": 4}


def test_cells_that_are_no_python_are_left_to_people(tmp_path):
    cells = [
        ("timed", nb.tests(1), "%%time\nassert True"),
        ("shell", nb.tests(1), "%%bash\nls"),
        ("broken", nb.tests(1), "assert ("),
        ("listed", nb.tests(1), "files = !ls\nassert files == []"),
    ]
    course = NbgraderCourse(nb.make_course(tmp_path, cells=cells))
    checks, refused = ReleasedSet(course, "hw1").locked_tests
    assert [check.item for check in checks] == ["timed", "listed"]
    assert "begins with %%bash" in refused["shell"] and "not Python" in refused["broken"]


def test_tests_that_the_courses_own_solution_fails_are_left_to_people(tmp_path, without_sandbox):
    cells = [*nb.CELLS, ("later", nb.tests(3), "import no_such_package\nassert squares(1) == [0]")]
    course = NbgraderCourse(nb.make_course(tmp_path, cells=cells))
    released = with_working_tests(course, "hw1", Confinement())
    assert [check.item for check in released.problem_set.checks] == [
        "squares",
        "mean-tests",
        "share",
    ]
    (why,) = released.left_to_people.values()
    assert "own solution gets 0 of 3 points here" in why and "ModuleNotFoundError" in why


def test_files_beside_the_notebook_are_there(tmp_path, without_sandbox, monkeypatch):
    monkeypatch.chdir(tmp_path)
    read = 'assert open("data/numbers.txt").read() == "1 2"'
    course = nb.make_course(tmp_path / "course", cells=[("file", nb.tests(1), read)])
    (course / "source/hw1/data").mkdir()
    (course / "source/hw1/data/numbers.txt").write_text("1 2")
    path = nb.write(course / "submitted/ada/hw1/hw1.ipynb", nb.notebook([("", {}, "x")]))
    assert points(graded(course, "hw1", path)) == {"file": 1}


def test_file_that_cannot_be_read_is_named(course, monkeypatch):
    (course / "source/hw1/data.csv").write_text("1,2")

    def denied(path):
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr(Path, "read_bytes", denied)  # root may read everything
    with pytest.raises(GraderError, match=r"data.csv cannot be read: Permission denied"):
        ReleasedSet(NbgraderCourse(course), "hw1").setup  # noqa: B018


def test_files_that_are_too_large_are_refused(course):
    with open(course / "source/hw1/data.bin", "wb") as file:
        file.truncate((16 << 20) + 1)
    with pytest.raises(GraderError, match="have 16777217 bytes; at most 16777216"):
        ReleasedSet(NbgraderCourse(course), "hw1").setup  # noqa: B018


# ------------------------------------------------------------------ a class
@pytest.mark.sandbox
def test_class_of_two_notebooks_is_graded_into_the_courses_own_gradebook(course, monkeypatch):
    """Both notebooks of the assignment, as a command; then once more, where nothing is new."""
    patient = partial(Confinement, Limits(wall_factor=60))  # the loop ends as on a free machine
    monkeypatch.setattr("autograder.grading.grader.Confinement", patient)
    (course / "nbgrader_config.py").write_text("get_config().Execute.timeout = 1")
    nb.write(course / "source/hw1/extra.ipynb", nb.notebook())
    hidden = f"import pathlib\nassert not any(pathlib.Path({str(course)!r}).rglob('*'))\n{MEAN}"
    for student, mean in (("ada", hidden), ("bo", "import os\nos._exit(0)")):
        nb.hand_in(course, student, mean__answer=mean, why="Since it is so.")
    nb.hand_in(course, "ada", name="extra", mean__answer="def mean(numbers):\n    while True: pass")
    done = grade(course, "--json")
    assert done.exit_code == 4, done.output  # bo's second notebook is missing
    first, second = json.loads(done.stdout)
    assert {one["student"]: one["points"] for one in first["grades"]} == {"ada": 10, "bo": 8}
    states = {one["student"]: (one["state"], one["reasons"]) for one in second["grades"]}
    assert states["ada"] == (State.GRADED, [])
    assert states["bo"][0] == State.REFUSED
    assert auto_scores(course) == {
        ("ada", "hw1", "squares"): 4,
        ("ada", "hw1", "mean-tests"): 2,
        ("ada", "hw1", "share"): 4,
        ("ada", "hw1", "why"): None,
        ("bo", "hw1", "squares"): 4,
        ("bo", "hw1", "mean-tests"): 0,
        ("bo", "hw1", "share"): 4,
        ("bo", "hw1", "why"): None,
        ("ada", "extra", "squares"): 4,
        ("ada", "extra", "mean-tests"): 0,
        ("ada", "extra", "share"): 4,
        ("ada", "extra", "why"): 0,
        ("bo", "extra", "squares"): None,
        ("bo", "extra", "mean-tests"): None,
        ("bo", "extra", "share"): None,
        ("bo", "extra", "why"): None,
    }
    for notebook in ("hw1", "extra"):
        assert (course / f"autograded/ada/hw1/{notebook}.ipynb").is_file()
        assert (course / f"feedback/ada/hw1/{notebook}.html").is_file()
    again = grade(course)
    assert "2 taken over" in again.output
    # One report on both, which leads to a page on both and to what comes next.
    table = [line.split() for line in again.stdout.splitlines()]
    assert ["student", "hw1", "extra", "together", "noticed"] in table
    (ada,) = [line for line in table if line[:1] == ["ada"]]
    assert ada == ["ada", "10", "of", "10", "8", "of", "15", "18", "of", "25"]  # `why` is blank
    (bo,) = [line for line in table if line[:1] == ["bo"]]
    assert bo[1:10] == ["8", "of", "10", "open", "8", "of", "10", "extra:", "refused,"]
    page = (course / "dashboard/hw1.html").read_text()
    assert "<h1>hw1</h1>" in page and 'href="hw1+extra/index.html"' in page
    (told,) = re.findall("^Next         autograder (.*)$", again.stdout, re.MULTILINE)
    assert shlex.split(told) == ["--course", str(course), "export", "hw1"]
    # Every other command works where the course lies.
    (course / "notes").mkdir()
    monkeypatch.chdir(course / "notes")
    for command, says in {
        "export hw1": "hw1,,,ada,,,,18.0,0.0,18.0,30.0",
        "explain hw1+extra ada mean-tests": "mean-tests: 0 of 2 points",
        "dashboard hw1": str(course / "dashboard/index.html"),
        "similarity hw1": "2 submissions compared",
        "feedback hw1+extra --to mail": "feedback for 2 students",
        "grade hw1": "Next         autograder export hw1",
    }.items():
        done = CliRunner().invoke(main, command.split())
        assert says in done.stdout, (command, done.output, done.exception)


def test_folder_that_a_release_has_filled_is_no_course_for_nbgrader(
    toy_course, tmp_path, monkeypatch
):
    write_release(ReleasedSet(toy_course, "toy").notebooks, tmp_path / "class")
    monkeypatch.chdir(tmp_path / "class")
    monkeypatch.delenv("AUTOGRADER_COURSE", raising=False)
    with pytest.raises(GraderError, match="no course found"):
        find_course()


def test_other_notebooks_of_an_assignment_are_no_remark(course):
    nb.write(course / "source/hw1/extra.ipynb", nb.notebook())
    for name in ("hw1", "extra"):
        nb.hand_in(course, "ada", name=name)
    released = ReleasedSet(NbgraderCourse(course), "hw1")
    (found,) = collect(
        course / "submitted", "hw1", others_files=released.course.others_files(released.name)
    )
    assert found.path.name == "hw1.ipynb" and found.reasons == ()


def test_instructor_reads_in_a_sentence_where_tests_stop(course):
    _, check, _ = ReleasedSet(NbgraderCourse(course), "hw1").problem_set.checks
    says = {
        (1, "ModuleNotFoundError", None): "its line 1 (`assert isclose(mean([1, 2]), 1.5)`) raises"
        " ModuleNotFoundError",
        (0, "", 0.5): "its tests end with the number 0.5",
        (-1, "SyntaxError", None): "before its first line, SyntaxError is raised",
        (9, "x" * 99, None): f"its line 9 raises {'x' * 80}",
        "forged": "what came out is no outcome of tests: 'forged'",
        Failure("timeout", "the time limit was exceeded"): "the time limit was exceeded",
    }
    for seen, words in says.items():
        observed = Observation(check.item, "tests", 0, seen, 0.0)
        (part,) = LockedJudge().verdict(check, 0, [observed]).parts
        assert part.staff_note == words


def test_points_that_nbgrader_gave_are_replaced_only_when_told(course, without_sandbox, tmp_path):
    """What people gave stays in any case, and so do times and penalties that nbgrader wrote."""
    nb.hand_in(course, "ada", mean__answer=MEAN)
    address = f"sqlite:///{course}/gradebook.db"
    assert grade(course, "--out", str(tmp_path / "out"), "--db", address).exit_code == 0
    with sqlite3.connect(course / "gradebook.db") as book:  # as if nbgrader had filled it
        book.execute("update grade set auto_score = 1 where auto_score = 4")
        book.execute("update grade set manual_score = 2, extra_credit = 1 where auto_score = 2")
        book.execute("update submitted_notebook set late_submission_penalty = 3")
        book.execute("update submitted_assignment set timestamp = '2026-01-02 03:04:05.000000'")
    before = list(book.iterdump())
    refused = grade(course)
    assert refused.exit_code == 1
    assert "nbgrader itself has graded hw1 for ada; with --replace" in refused.stderr
    planned = json.loads(grade(course, "--dry-run", "--json").stdout)
    assert "nbgrader gave 4 points: write over them with --replace" in planned[0]["reason"]
    assert list(book.iterdump()) == before
    done = json.loads(grade(course, "--replace", "--json").stdout)
    assert "of 1 that nbgrader had graded, 1 have other points now: ada 4 → 10" in done["notices"]
    given = "select auto_score, manual_score, extra_credit from grade order by auto_score"
    assert list(book.execute(given)) == [
        (0, None, None),
        (2, 2, 1),
        (4, None, None),
        (4, None, None),
    ]
    assert list(book.execute("select late_submission_penalty from submitted_notebook")) == [(3,)]
    kept = book.execute("select timestamp from submitted_assignment").fetchone()
    assert kept == ("2026-01-02 03:04:05.000000",)
    assert "1 taken over" in grade(course).output  # it is ours now


@pytest.mark.parametrize(("theirs", "left"), [(None, 0.0), (2.0, 2.0)])
def test_penalty_goes_with_the_due_date_unless_nbgrader_wrote_it(
    course, without_sandbox, theirs, left
):
    file = nb.hand_in(course, "ada", mean__answer=MEAN)
    (file.parent / "timestamp.txt").write_text("2026-03-03 12:00:00 UTC")
    settings = course / "course.toml"
    due = "[sets.hw1]\ndue = 2026-03-02 12:00:00Z\npenalty_percent = 20\n"
    ask, found = "late_submission_penalty", []
    for text in (due, ""):
        settings.write_text(text)
        assert grade(course).exit_code == 0
        book = sqlite3.connect(course / "gradebook.db")
        found += book.execute(f"select {ask} from submitted_notebook")
        if theirs is not None:
            book.execute(f"update submitted_notebook set {ask} = ?", [theirs])
            book.commit()
    assert found == [(3.0,), (left,)]


def test_penalty_of_ours_is_known_after_a_run_that_was_killed_before_the_gradebook(
    course, without_sandbox, monkeypatch
):
    file = nb.hand_in(course, "ada", mean__answer=MEAN)
    (file.parent / "timestamp.txt").write_text("2026-03-03 12:00:00 UTC")
    settings = course / "course.toml"
    settings.write_text("[sets.hw1]\ndue = 2026-03-02 12:00:00Z\npenalty_percent = 20\n")
    assert grade(course).exit_code == 0
    settings.write_text("")

    def killed(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Gradebook, "_record_some", killed)
        grade(course)
    ask = "select late_submission_penalty from submitted_notebook"
    with sqlite3.connect(course / "gradebook.db") as book:
        assert list(book.execute(ask)) == [(3.0,)]
        (record,) = (course / "records").glob("hw1/*.json")
        assert json.loads(record.read_text())["grade"]["timing"]["penalty"] == 0
        assert grade(course).exit_code == 0
        assert list(book.execute(ask)) == [(0.0,)]


def test_gradebook_of_an_older_nbgrader_is_refused_in_one_line(course, without_sandbox):
    nb.hand_in(course, "ada")
    assert grade(course).exit_code == 0
    with sqlite3.connect(course / "gradebook.db") as book:
        book.execute("alter table grade drop column extra_credit")
    done = grade(course)
    command = f"run `nbgrader db upgrade --db 'sqlite:///{course / 'gradebook.db'}'`"
    assert done.exit_code == 1 and command in done.stderr


@pytest.mark.parametrize(("ending", "worth"), [("2", 2), ("2;", 4), ("assert True", 4)])
def test_number_counts_only_where_the_cell_ends_with_one(tmp_path, ending, worth):
    course = nb.make_course(tmp_path, cells=[("only", nb.tests(4), f"x = 1\n{ending}")])
    (check,) = ReleasedSet(NbgraderCourse(course), "hw1").problem_set.checks
    judge = LockedJudge()
    seen = Observation("only", "tests", 0, (0, "", 2.0 if worth == 2 else None))
    assert judge.verdict(check, 0, [seen]).points == worth
    forged = replace(seen, value=(0, "", 3.0))
    assert judge.verdict(check, 0, [forged]).points == (3 if worth == 2 else 0)


@pytest.mark.slow
@pytest.mark.sandbox
def test_points_are_those_that_nbgrader_itself_gives(course, run_nbgrader):
    """nbgrader is the oracle: the same course, the same answers, the same rows."""
    nb.hand_in(course, "ada", mean__answer=MEAN, why="Since it is so.")
    nb.hand_in(course, "bo", squares_answer="def squares(n):\n    return []", mean__answer="")
    theirs = course.with_name("theirs")
    shutil.copytree(course, theirs)
    run_nbgrader(theirs, "generate_assignment", "hw1")
    run_nbgrader(theirs, "autograde", "hw1")
    assert grade(course).exit_code == 0
    rows = auto_scores(course)
    assert rows == auto_scores(theirs)
    assert sorted(points for points in rows.values() if points) == [2, 2, 4, 4]


@pytest.mark.slow
@pytest.mark.sandbox
@pytest.mark.exhaustive_but("shared")
@pytest.mark.parametrize("kind", nb.KINDS)
def test_points_are_nbgraders_in_courses_of_every_kind(tmp_path, run_nbgrader, kind):
    """Names that cells share, imports and files in test cells, seeds, an unsolved earlier task,
    magics, figures, several notebooks."""
    given, files, worth = nb.KINDS[kind]
    notebooks = given if isinstance(given, dict) else {"hw1": given}
    course = tmp_path / "ours"
    for name, cells in notebooks.items():
        nb.write(course / "source" / "hw1" / f"{name}.ipynb", nb.notebook(cells))
    for name, text in files.items():
        (course / "source" / "hw1" / name).write_text(text)
    answers = [cell for cells in notebooks.values() for cell in cells if cell[1] == nb.ANSWER]
    solved = {cell: nb.solution(text) for cell, _, text in answers}
    stubs = list(solved)
    for name in notebooks:
        nb.hand_in(course, "all", name, **solved)
        nb.hand_in(course, "none", name, squares_answer="")
        for stub in stubs:
            rest = {k: v for k, v in solved.items() if k != stub}
            nb.hand_in(course, f"not {stub}", name, **rest)
    theirs = course.with_name("theirs")
    shutil.copytree(course, theirs)
    run_nbgrader(theirs, "generate_assignment", "hw1")
    run_nbgrader(theirs, "autograde", "hw1")
    assert grade(course).exit_code == 0
    rows = auto_scores(course)
    assert rows == auto_scores(theirs)
    assert {
        student: sum(p or 0 for (who, *_), p in rows.items() if who == student)
        for student in ("all", *(f"not {stub}" for stub in stubs))
    } == worth


@pytest.mark.sandbox
def test_nbgraders_own_example_course_is_graded_as_nbgrader_has_published(tmp_path):
    """The course of nbgrader's user guide, by others; its autograded notebooks are the oracle."""
    guide = Path(nbgrader.__file__).parent / "docs/source/user_guide"
    published = sorted(guide.glob("autograded/*/ps1/*.ipynb"))
    if not published:
        pytest.skip("this nbgrader came without its user guide")
    for part in ("source/ps1", "submitted"):
        shutil.copytree(guide / part, tmp_path / part)
    done = CliRunner().invoke(main, ["grade", "ps1", "--nbgrader", str(tmp_path)])
    assert done.exit_code == 0, done.output
    found, theirs = auto_scores(tmp_path), {}
    for path in published:
        for cell in filter(is_grade, nbformat.read(path, as_version=4).cells):
            key = (path.parts[-3], path.stem, cell.metadata.nbgrader.grade_id)
            theirs[key] = determine_grade(cell)[0]
    assert len(theirs) == 16
    assert {key: found[key] for key in theirs} == theirs


def test_commands_that_need_checks_say_so(course, tmp_path):
    for command in (["check", "hw1"], ["release", "hw1"], ["gradescope", "hw1"]):
        done = CliRunner().invoke(main, ["--course", str(course), *command])
        assert done.exit_code == 1 and "is a course for nbgrader, whose sets have no checks" in (
            done.output
        )


def test_usage_is_explained(course, toy_course):
    assert (
        "no assignment 'hw9'"
        in CliRunner().invoke(main, ["grade", "hw9", "--nbgrader", str(course)]).output
    )
    wrong = CliRunner().invoke(main, ["grade", "toy", "--nbgrader", str(toy_course.folder)])
    assert (
        wrong.exit_code == 1 and "is not a course for nbgrader: it has no source/" in wrong.output
    )
    nowhere = CliRunner().invoke(main, ["--course", str(toy_course.folder), "grade", "toy"])
    assert nowhere.exit_code == 2 and "--submissions" in nowhere.output
