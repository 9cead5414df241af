import math
import sqlite3
import sys

import pytest

from autograder.authoring.course import COURSE_VARIABLE
from autograder.authoring.notebooks import as_text
from autograder.authoring.release import ReleasedSet, write
from autograder.lms.nbgrader_cell import score
from autograder.records import CheckFault, GraderError


@pytest.fixture(autouse=True)
def course_is_named(toy_course, monkeypatch):
    monkeypatch.setenv(COURSE_VARIABLE, str(toy_course.folder))


def _double(numbers):
    return [2 * number for number in numbers]


def _square(numbers):
    return [number * number for number in numbers]


def test_right_answer_earns_the_points_of_the_item(capsys):
    assert score("toy", "toy_double", {"double": _double}) == 60
    assert capsys.readouterr().out == ""


def test_half_right_answer_earns_a_share_and_the_reason_is_printed(capsys):
    assert score("toy", "toy_double", {"double": _square}) == 20
    out = capsys.readouterr().out
    assert "Every number is doubled." in out
    assert "Twice a number is not its square." in out


@pytest.mark.parametrize("namespace", [{}, {"double": None}, {"double": lambda numbers: math.nan}])
def test_wrong_answer_raises_since_nbgrader_may_take_0_for_full_marks(namespace):
    with pytest.raises(AssertionError, match="Every number is doubled"):
        score("toy", "toy_double", namespace)


def test_answer_that_changes_its_arguments_is_judged_alike_twice():
    def double_in_place(numbers):
        numbers[:] = _double(numbers)
        return numbers

    assert [score("toy", "toy_double", {"double": double_in_place}) for _ in range(2)] == [60, 60]


def test_noise_of_the_answer_does_not_reach_stderr(capsys):
    def noisy(numbers):
        print("careful", file=sys.stderr)
        return _double(numbers)

    assert score("toy", "toy_double", {"double": noisy}) == 60
    assert capsys.readouterr().err == ""


def test_score_rejects_an_unknown_item_and_an_unknown_set():
    with pytest.raises(KeyError, match="no item 'toy_x'"):
        score("toy", "toy_x", {})
    with pytest.raises(GraderError, match="'ps9'"):
        score("ps9", "toy_double", {})


def test_broken_check_is_no_wrong_answer(toy_course):
    checks = toy_course.folder / "toy" / "problem_set.py"
    checks.write_text(
        checks.read_text().replace("def _double(numbers):", "def _double(numbers, x):")
    )
    with pytest.raises(CheckFault, match="toy_double"):
        score("toy", "toy_double", {"double": _double})


@pytest.mark.slow
def test_unmodified_nbgrader_gives_the_same_points(toy_course, toys, tmp_path, run_nbgrader):
    """generate_assignment, submit, autograde: as an instructor without our grader would."""
    built = ReleasedSet(toy_course, "toy").notebooks
    write(built, tmp_path)
    (tmp_path / "release" / "toy" / "toy.ipynb").unlink()
    (tmp_path / "release" / "toy").rmdir()
    run_nbgrader(tmp_path, "generate_assignment", "toy")
    assert (tmp_path / "release/toy/toy.ipynb").read_text() == as_text(built.student)
    # bo passes the visible test; one that does not gets nothing from plain nbgrader, as always.
    half_right = "def double(numbers):\n    return [2 * number for number in numbers] or None"
    answers = {"ada": (toys.double, toys.mean), "bo": (half_right, ""), "cy": ("", "")}
    for student, (double, mean) in answers.items():
        folder = tmp_path / "submitted" / student / "toy"
        folder.mkdir(parents=True)
        (folder / "toy.ipynb").write_text(as_text(toys.answer(toy_course, double, mean)))
    run_nbgrader(tmp_path, "autograde", "toy")
    rows = sqlite3.connect(tmp_path / "gradebook.db").execute(
        "select s.student_id, b.name, g.auto_score from grade g"
        " join base_cell b on b.id = g.cell_id"
        " join submitted_notebook n on n.id = g.notebook_id"
        " join submitted_assignment s on s.id = n.assignment_id where b.name != 'toy_essay'"
    )
    assert {(student, cell): points for student, cell, points in rows} == {
        ("ada", "toy_double"): 60,
        ("ada", "toy_mean"): 30,
        ("bo", "toy_double"): 40,
        ("bo", "toy_mean"): 0,
        ("cy", "toy_double"): 0,
        ("cy", "toy_mean"): 0,
    }


@pytest.mark.slow
def test_nbgrader_gives_nobody_a_zero_where_the_course_is_not_found(
    toy_course, toys, tmp_path, monkeypatch, run_nbgrader
):
    monkeypatch.delenv(COURSE_VARIABLE)
    own = tmp_path / "elsewhere"
    write(ReleasedSet(toy_course, "toy").notebooks, own)
    (own / "submitted/ada/toy").mkdir(parents=True)
    perfect = as_text(toys.answer(toy_course, toys.double, toys.mean))
    (own / "submitted/ada/toy/toy.ipynb").write_text(perfect)
    (own / "release/toy/toy.ipynb").unlink()
    (own / "release/toy").rmdir()
    run_nbgrader(own, "generate_assignment", "toy")
    said = run_nbgrader(own, "autograde", "toy", is_done=False)
    assert "toy_double was not graded, and nobody gets points or loses any: no course" in said
    rows = sqlite3.connect(own / "gradebook.db").execute("select auto_score from grade")
    assert {points for (points,) in rows} <= {None}
    assert not (own / "autograded/ada/toy").exists()


def test_course_beside_the_grader_is_found(monkeypatch, tmp_path):
    monkeypatch.delenv(COURSE_VARIABLE)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(AssertionError, match="count"):
        score("ps1", "ps1_count_ngrams", {})
