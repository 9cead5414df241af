"""Making a set with checks of a notebook that was written for nbgrader."""

import errno
import json
import sys

import nbformat
import pytest
from click.testing import CliRunner

from autograder import files
from autograder.authoring.adopt import adopt
from autograder.authoring.course import Course, NbgraderCourse
from autograder.authoring.lint import lint
from autograder.authoring.release import ReleasedSet
from autograder.authoring.replay import _MORE
from autograder.class_run.own_solution import with_working_tests
from autograder.cli.main import main
from autograder.cli.options import FINDINGS
from autograder.grading.grader import Confinement
from autograder.grading.judge import ItemJudge
from autograder.handed_out import beside
from autograder.inside.probe import probe_or_failure
from autograder.records import GraderError, Observation
from tests.autograder import nbgrader_course as nb
from tests.autograder.authoring.public_style import COURSES


@pytest.fixture
def released(tmp_path):
    course = nb.make_course(tmp_path / "for nbgrader")
    return ReleasedSet(NbgraderCourse(course), "hw1")


@pytest.fixture
def own(tmp_path):
    return Course(tmp_path / "own")


def share(check, answer):
    """Return the points that an answer earns, judged as in grading."""
    judge, namespace = ItemJudge(), {}
    exec(answer, namespace)
    seen = [
        Observation(ask.item, ask.part, ask.case, probe_or_failure(ask, namespace))
        for ask in judge.requests(check, 0)
    ]
    verdict = judge.verdict(check, 0, seen)
    assert not verdict.fault
    return verdict.points


def test_assertions_become_checks_and_the_rest_is_named(released, own):
    made = adopt(released, own)
    assert made.calls == {"squares": 3, "mean-tests": 1}
    assert made.left == {
        "share": "it ends with a number of points: a check's part holds or does not"
    }
    assert "assert squares(17)[-1] == 256" in (made.folder / "squares.py").read_text()


@pytest.mark.exhaustive_but("text")
@pytest.mark.parametrize("name", COURSES)
def test_courses_in_public_style_are_adopted_and_judged_as_their_own_cells_would(
    tmp_path, own, name
):
    cells, reasons = COURSES[name]
    course = NbgraderCourse(nb.make_course(tmp_path / "for nbgrader", cells=cells))
    made = adopt(ReleasedSet(course, "hw1"), own)
    graded = [cell for cell, role, _ in cells if role.get("grade")]
    assert sorted([*made.calls, *made.left]) == sorted(graded)
    assert made.left.keys() == reasons.keys()
    for cell, words in reasons.items():
        assert words in made.left[cell]
    solved = "\n".join(nb.solution(source) for _, role, source in cells if not role.get("grade"))
    solved = solved.replace("%matplotlib inline", "")
    for check in ReleasedSet(own, "hw1").problem_set.checks:
        assert share(check, solved) == check.points
        wrong = f"{solved}\ndef {check.target}(*args, **kwargs):\n    return 'wrong'"
        assert share(check, wrong) == 0


def test_checks_ask_what_the_assertions_asked_hidden_ones_too(released, own):
    adopt(released, own)
    checks = {check.item: check for check in ReleasedSet(own, "hw1").problem_set.checks}
    assert share(checks["squares"], nb.SQUARES) == 4
    assert share(checks["squares"], "def squares(n):\n    return [0, 1, 4]") == 0
    assert share(checks["mean_tests"], "def mean(numbers):\n    return 3 / 2") == 2
    assert share(checks["mean_tests"], "def mean(numbers):\n    return 1.5001") == 0


def test_notebook_hides_what_was_hidden_and_release_says_what_is_left(released, own):
    adopt(released, own)
    adopted = ReleasedSet(own, "hw1")
    complaints = lint(adopted.notebooks, adopted.problem_set)
    assert complaints == ("share: the notebook grades it, but there is no check",)
    cells = {cell.id: cell.source for cell in adopted.notebooks.student.cells}
    assert "squares(3)" in cells["squares"] and "squares(0)" not in cells["squares"]
    assert "return sum" not in cells["mean_tests_answer"]


@pytest.mark.parametrize(
    ("cells", "reason"),
    [
        ([("a", nb.tests(1), "assert f(3) == 4")], "it asks for nothing that students define"),
        ([("a", nb.tests(1), "%%bash\nls")], "begins with %%bash"),
        (  # a file beside the notebook
            [
                ("setup", nb.LOCKED, "import helper_of_this_course"),
                ("x", nb.ANSWER, "def f(n):\n    return n"),
                ("a", nb.tests(1), "assert f(1) == helper_of_this_course.one"),
            ],
            "it needs helper_of_this_course, which is neither installed nor beside the notebook",
        ),
        (  # as in nbgrader's own example
            [
                ("x", nb.ANSWER, "def f(n):\n    return n"),
                ("y", nb.ANSWER, "def g(n):\n    return f(n)"),
                ("a", nb.tests(1), "own = f\ndel f\ntry:\n    g(1)\nfinally:\n    f = own"),
            ],
            "it deletes f, to see who calls it",
        ),
        (
            [
                ("x", nb.ANSWER, "def asserted(n):\n    return n"),
                ("a", nb.tests(1), "assert asserted(3) == 3"),
            ],
            "the name asserted, which checks give to something",
        ),
    ],
)
def test_what_cannot_be_adopted_is_said_and_nothing_is_written(tmp_path, own, cells, reason):
    course = NbgraderCourse(nb.make_course(tmp_path / "for nbgrader", cells=cells))
    with pytest.raises(GraderError, match=f"nothing in hw1 can be adopted: a: .*{reason}"):
        adopt(ReleasedSet(course, "hw1"), own)
    assert not own.folder.exists()


def test_several_test_cells_of_one_answer_become_one_check(tmp_path, own):
    cells = [*nb.CELLS[:4], ("again", nb.tests(1), "assert squares(1) == [0]")]
    course = NbgraderCourse(nb.make_course(tmp_path / "for nbgrader", cells=cells))
    assert adopt(ReleasedSet(course, "hw1"), own).calls == {"squares": 3, "again": 1}
    adopted = ReleasedSet(own, "hw1")
    (check,) = adopted.problem_set.checks
    assert (check.points, [part.weight for part in check.parts]) == (5, [4, 1])
    assert share(check, "def squares(n):\n    return [0]") == 1
    assert not lint(adopted.notebooks, adopted.problem_set)
    (cell,) = [cell for cell in adopted.notebooks.student.cells if cell.id == "squares"]
    assert "squares(3)" in cell.source and "squares(1)" in cell.source


def test_command_names_what_is_left_and_overwrites_nothing(released, own, without_sandbox):
    def run(*arguments):
        at = ["--course", str(own.folder), "adopt", "--nbgrader", str(released.course.folder)]
        return CliRunner().invoke(main, [*at, *arguments])

    assert "no test cell 'mean'" in run("hw1", "mean").output
    done = run("hw1", "squares", "--json")
    assert done.exit_code == 0 and json.loads(done.stdout)["calls"] == {"squares": 3}
    again = run("hw1")
    assert again.exit_code == 1 and "exists already; move it away first" in again.output


def test_assertion_that_the_solution_does_not_meet_is_no_case(tmp_path, own, without_sandbox):
    cells = [*nb.CELLS[:5], ("wrong", nb.tests(1), "assert mean([1]) == 2")]
    course = NbgraderCourse(nb.make_course(tmp_path / "for nbgrader", cells=cells))
    left = adopt(with_working_tests(course, "hw1", Confinement()), own).left
    assert left["wrong"].startswith("the course's own solution gets 0 of 1")


def test_adopted_set_is_checked_released_and_graded(own, tmp_path, without_sandbox):
    """The way that the guide describes, from the first command to the last."""
    cells = [cell for cell in nb.CELLS if cell[0] != "share"]  # that one has no call to adopt
    theirs = nb.make_course(tmp_path / "for nbgrader", cells=cells)

    def run(*arguments):
        return CliRunner().invoke(main, ["--course", str(own.folder), *map(str, arguments)])

    done = run("adopt", "hw1", "--nbgrader", theirs)
    assert done.exit_code == 0 and "adopted 2 of 2 test cells" in done.output
    checked = run("check", "hw1", "--no-mutants", "--json")
    assert checked.exit_code == 4
    (report,) = json.loads(checked.stdout)
    assert [problem.split(";")[0] for problem in report["problems"]] == [
        f"{item}: 0 {lacks}"
        for item in ("squares", "mean_tests")
        for lacks in ("mistakes", "right answers")
    ]
    released = run("release", "hw1", "--out", tmp_path / "out")
    assert released.exit_code == 0, released.output
    handed_out = nbformat.read(tmp_path / "out/release/hw1/hw1.ipynb", as_version=4)
    answers = {"ada": nb.SQUARES, "bo": "def squares(n):\n    return [0, 1, 4]"}
    for student, answer in answers.items():
        for cell in handed_out.cells:
            cell.source = answer if cell.id == "squares_answer" else cell.source
        nb.write(tmp_path / f"class/{student}.ipynb", handed_out)
    place = ("--submissions", tmp_path / "class", "--out", tmp_path / "out")
    done = run("grade", "hw1", *place, "--json")
    assert done.exit_code == 0, done.output
    points = {one["student"]: one["items"] for one in json.loads(done.stdout)["grades"]}
    assert points["ada"] == {"squares": 4, "mean_tests": 0}
    assert points["bo"] == {"squares": 0, "mean_tests": 0}


def test_names_that_files_of_a_set_have_are_not_given_to_checks(tmp_path, own):
    cells = [
        ("f_answer", nb.ANSWER, "def f(n):\n    return n"),
        ("problem_set", nb.tests(1), "assert f(3) == 3"),
        ("g_answer", nb.ANSWER, "def g(n):\n    return n"),
        ("class", nb.tests(1), "assert g(3) == 3"),
        ("h_answer", nb.ANSWER, "def h(n):\n    return n"),
        ("task-class", nb.tests(1), "assert h(3) == 3"),
    ]
    course = NbgraderCourse(nb.make_course(tmp_path / "for nbgrader", cells=cells))
    left = adopt(ReleasedSet(course, "hw1"), own).left
    assert left == {"task-class": "its name becomes task_class, as that of another test cell does"}
    checks = ReleasedSet(own, "hw1").problem_set.checks
    assert [check.item for check in checks] == ["task_problem_set", "task_class"]


def test_set_that_cannot_be_written_leaves_nothing(released, own, monkeypatch):
    write = files.write_atomically

    def full(path, data):
        if path.name == "notebook.py":
            raise OSError(errno.ENOSPC, "No space left on device")
        write(path, data)

    monkeypatch.setattr(files, "write_atomically", full)
    with pytest.raises(GraderError, match=r"own/hw1 cannot be written: No space left on device"):
        adopt(released, own)
    assert list(own.folder.iterdir()) == []


# Each solution passes its test in a kernel. Where the test meets only what calls give, it would
# fail every right answer.
SEES_MORE = {
    "file": (
        "def save(path):\n    with open(path, 'w') as file:\n        file.write('3')",
        "save('out.txt')\nassert open('out.txt').read() == '3'",
    ),
    "output": (
        "def hello():\n    print('hello')",
        "import contextlib, io\nwith contextlib.redirect_stdout(io.StringIO()) as out:\n"
        "    hello()\nassert out.getvalue() == 'hello\\n'",
    ),
    "environment": (
        "import os\ndef setting():\n    return os.environ.get('HW')",
        "import os\nos.environ['HW'] = 'yes'\nassert setting() == 'yes'",
    ),
    "patch": (
        "def number():\n    return int(input())",
        "from unittest.mock import patch\nwith patch('builtins.input', return_value='3'):\n"
        "    assert number() == 3",
    ),
    "time": (
        "import time\ndef now():\n    return time.time()",
        "import time\nbefore = time.time()\nassert now() >= before",
    ),
    "variable": (
        "TOTAL = 0\ndef add(n):\n    global TOTAL\n    TOTAL += n",
        "add(2)\nassert TOTAL == 2",
    ),
    "source": (
        "def f(n):\n    return 1 if n == 0 else n * f(n - 1)",
        "import inspect\nassert 'for' not in inspect.getsource(f)\nassert f(3) == 6",
    ),
}


def test_assertions_that_see_more_than_what_calls_give_are_left(tmp_path, own):
    cells = [
        ("g_answer", nb.ANSWER, "def g(n):\n    return n"),
        ("g", nb.tests(1), "assert g(3) == 3"),
    ]
    for what, (answer, tests) in SEES_MORE.items():
        cells += [(f"{what}_answer", nb.ANSWER, answer), (what, nb.tests(1), tests)]
    course = NbgraderCourse(nb.make_course(tmp_path / "for nbgrader", cells=cells))
    made = adopt(ReleasedSet(course, "hw1"), own)
    assert made.calls == {"g": 1} and made.left.keys() == SEES_MORE.keys()
    for why in made.left.values():
        assert why.startswith("its assertions see more than what calls give")


def _solved(head, body):
    return f"{head}\n    ### BEGIN SOLUTION\n    {body}\n    ### END SOLUTION"


def test_files_beside_the_notebook_are_handed_out(tmp_path, own, without_sandbox, monkeypatch):
    monkeypatch.chdir(tmp_path)  # without a sandbox, they are written where this runs
    monkeypatch.setattr(sys, "path", [*sys.path])
    read = (
        "import json\nimport helpers\nwith open('numbers.json') as file:\n"
        "    numbers = json.load(file)\nrows = []\nfor one in numbers:\n    rows.append([one])"
    )
    cells = [
        ("read", nb.LOCKED, read),
        ("f_answer", nb.ANSWER, _solved("def f(n):", "return helpers.twice(n)")),
        ("f", nb.tests(1), "assert f(3) == helpers.twice(3)"),
        ("g_answer", nb.ANSWER, _solved("def g(n):", "return sum(n)")),
        ("g", nb.tests(1), "assert g(numbers) == 3"),
        ("h_answer", nb.ANSWER, _solved("def h(path):", "return json.load(open(path))")),
        ("h", nb.tests(1), "assert h('numbers.json') == numbers and len(rows) == 2"),
        ("i_answer", nb.ANSWER, _solved("def i(path):", "return open(path).read()")),
        ("i", nb.tests(1), "open('made.txt', 'w').write('3')\nassert i('made.txt') == '3'"),
    ]
    folder = nb.make_course(tmp_path / "for nbgrader", cells=cells)
    source = folder / "source/hw1"
    (source / "helpers.py").write_text("def twice(n):\n    return 2 * n\n")
    (source / "numbers.json").write_text("[1, 2]")
    (source / "random.py").write_text("seed = None")
    (source / "link.csv").symlink_to(folder / "gradebook.db")
    course = ["--course", str(own.folder)]
    done = CliRunner().invoke(main, [*course, "adopt", "hw1", "--nbgrader", str(folder)])
    assert done.exit_code == FINDINGS, done.output
    assert done.stdout.splitlines()[:6] == [
        "f: a check with 1 call",
        "g: a check with 1 call",
        "h: a check with 1 call",
        f"i: not adopted: {_MORE}",
        "adopted 3 of 4 test cells",
        "handed out beside the notebook: helpers.py, numbers.json",
    ]
    assert "note: random.py is not handed out: it would be imported instead" in done.stderr
    assert "note: link.csv is not handed out: it is a link" in done.stderr
    assert not (own.folder / "hw1/files/made.txt").exists()
    answer = "import json\ndef h(path):\n    return json.load(open(path))"
    files = ReleasedSet(own, "hw1").files
    (check,) = [one for one in ReleasedSet(own, "hw1").problem_set.checks if one.item == "h"]
    with beside(files):
        assert share(check, answer) == 1
        assert share(check, answer.replace("json.load(open(path))", "[1, 3]")) == 0
