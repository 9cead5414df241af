import pytest

from autograder.authoring.course import COURSE_VARIABLE, find_course
from autograder.records import CheckFault, GraderError


def test_course_lists_the_folders_that_hold_a_notebook(toy_course):
    for name in ("alpha", "_draft", "sample_class"):
        (toy_course.folder / name).mkdir()
    for name in ("alpha", "_draft"):
        (toy_course.folder / name / "notebook.py").touch()
    assert toy_course.sets() == ("alpha", "toy")
    with pytest.raises(GraderError, match=r"alpha has no checks: .*problem_set\.py does not exist"):
        toy_course.problem_set("alpha")


def test_what_judges_a_set_is_all_code_in_its_folder_but_notebook_and_tests(toy_course):
    (toy_course.folder / "alpha").mkdir()
    for name in ("alpha/double", "judges", "nbgrader_config", "toy/double", "toy/test_toy"):
        (toy_course.folder / f"{name}.py").touch()
    names = {str(path.relative_to(toy_course.folder)) for path in toy_course.check_files("toy")}
    assert names == {"judges.py", "toy/double.py", "toy/problem_set.py"}


def test_course_loads_the_checks_it_holds(toy_course):
    assert [check.item for check in toy_course.problem_set("toy").checks] == [
        "toy_double",
        "toy_mean",
    ]


def test_set_is_made_of_files_that_import_each_other(toy_course):
    checks = toy_course.folder / "toy" / "problem_set.py"
    (checks.parent / "texts.py").write_text("TITLE = 'from a neighbour'\n")
    text = checks.read_text().replace('title="Toy set"', "title=TITLE")
    checks.write_text("from .texts import TITLE\n" + text)
    assert toy_course.problem_set("toy").title == "from a neighbour"


def test_course_rejects_an_unknown_set_and_lists_what_exists(toy_course):
    with pytest.raises(GraderError, match=r"'ps9'.*it has: toy"):
        toy_course.problem_set("ps9")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("PROBLEM_SET = None", "must define PROBLEM_SET"),
        (
            "from autograder.authoring.checks import ProblemSet\n"
            "PROBLEM_SET = ProblemSet('ps9', '', ())",
            "defines the problem set 'ps9'",
        ),
    ],
)
def test_course_rejects_checks_that_do_not_load(toy_course, text, message):
    (toy_course.folder / "toy" / "problem_set.py").write_text(text)
    with pytest.raises(CheckFault, match=message):
        toy_course.problem_set("toy")


def test_find_course_takes_the_folder_or_the_variable_or_looks_upwards(
    toy_course, tmp_path, monkeypatch
):
    assert find_course(toy_course.folder) == toy_course
    monkeypatch.setenv(COURSE_VARIABLE, str(toy_course.folder))
    assert find_course() == toy_course
    monkeypatch.delenv(COURSE_VARIABLE)
    toy_course.folder.rename(tmp_path / "assignments")
    (tmp_path / "deep" / "below").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "deep" / "below")
    assert find_course().folder == tmp_path / "assignments"


def test_find_course_rejects_a_folder_that_is_none(tmp_path, monkeypatch):
    with pytest.raises(GraderError, match=r"no folder in it has a notebook\.py"):
        find_course(tmp_path)
    monkeypatch.delenv(COURSE_VARIABLE, raising=False)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(GraderError, match=COURSE_VARIABLE):
        find_course()
