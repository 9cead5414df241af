"""The sample class, end to end: what each student must get, whatever the problem set."""

import ast
from pathlib import Path

import pytest

from assignments.sample_class import make
from autograder.authoring.course import find_course
from autograder.authoring.release import ReleasedSet
from autograder.class_run.pipeline import grade_class
from autograder.class_run.settings import Settings
from autograder.files import write_atomically
from autograder.records import State
from autograder.reports import html as pages_module

COURSE = find_course(make.Path(make.__file__).parent.parent)
PERFECT = (
    "perfect",
    "perfect-but-different",
    "warnings-everywhere",
    "deleted-test-cells",
    "copied-cells",
    "no-metadata",
    "other-kernel",
    "old-format",
)
NOTHING = (
    "blank",
    "broken-file",
    "empty-file",
    "attack-agrees-with-everything",
    "attack-ends-the-process",
    "attack-meddles",
)


def test_sample_class_is_the_same_in_every_run():
    first, second = dict(make.students(COURSE, "ps1")), dict(make.students(COURSE, "ps1"))
    assert first == second
    assert len(first) >= 8


@pytest.mark.parametrize("name", COURSE.sets())
def test_recorded_answer_is_handed_in_as_a_student_would_write_it(name):
    for check in COURSE.problem_set(name).checks:
        for answer in check.mistakes:
            *imports, function = ast.parse(make.as_answer(check, answer.implementation)).body
            assert all(isinstance(statement, ast.Import) for statement in imports)
            assert function.name == check.target
            assert function.decorator_list == []


def test_sample_class_is_written_set_by_set(tmp_path):
    paths = make.write(COURSE, tmp_path)
    assert sorted(tmp_path.rglob("*.ipynb")) == sorted(paths)
    assert {path.parent.name for path in paths} == set(COURSE.sets())
    assert len({path.name for path in paths}) == 20


def test_twenty_students_spread_over_all_sets():
    first, *later = COURSE.sets()
    everybody = {student for student, _ in make.students(COURSE, first)}
    assert {student for student, _ in make.handed_in(COURSE, first)} == everybody
    classes = [{student for student, _ in make.handed_in(COURSE, name)} for name in later]
    assert len(everybody) == 20
    always = set.intersection(*classes)
    assert always == {"perfect", "perfect-but-different", "typical-mistakes-1"}
    turns = [student for people in classes for student in people - always]
    assert sorted(turns) == sorted(everybody - always - {"endless-loop"})  # each once more


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sample")
    for student, data in make.handed_in(COURSE, "ps1"):
        write_atomically(folder / "class" / f"{student}.ipynb", data)
    return folder, grade_class(
        ReleasedSet(COURSE, "ps1"), folder / "class", Settings(folder / "out")
    )


def _grade(graded, student):
    (found,) = [grade for grade in graded[1].grades if grade.student == student]
    return found


pytestmark = pytest.mark.filterwarnings("ignore::nbformat.warnings.MissingIDFieldWarning")


@pytest.mark.slow
@pytest.mark.sandbox
def test_sample_class_ends_without_a_fault_of_the_grader(graded):
    states = graded[1].states
    assert states[State.GRADER_FAULT] == 0
    assert states[State.REFUSED] == 2
    assert sum(states.values()) == len(dict(make.students(COURSE, "ps1")))


@pytest.mark.slow
@pytest.mark.sandbox
@pytest.mark.parametrize("student", PERFECT)
def test_right_answers_earn_everything_whatever_happened_to_the_notebook(graded, student):
    grade = _grade(graded, student)
    assert [v.item for v in grade.verdicts if v.points < v.max_points] == []


@pytest.mark.slow
@pytest.mark.sandbox
@pytest.mark.parametrize("student", NOTHING)
def test_nothing_is_earned_by_doing_nothing_or_by_attacking(graded, student):
    assert _grade(graded, student).points == 0


@pytest.mark.slow
@pytest.mark.sandbox
@pytest.mark.parametrize("number", range(3))
def test_typical_mistake_is_named_in_every_item_that_has_it(graded, number):
    grade = _grade(graded, f"typical-mistakes-{number + 1}")
    checks = COURSE.problem_set("ps1").checks
    wrong = {check.target for check in checks[number::3]}
    for index, (check, verdict) in enumerate(zip(checks, grade.verdicts, strict=True)):
        if index % 3 == number:
            assert verdict.points < check.points
            assert verdict.misconception.name == check.mistakes[number].name
        elif check.target.removeprefix("judge_") in wrong:  # others are held against one's own
            assert verdict.points < check.points
        else:
            assert verdict.points == check.points


@pytest.mark.slow
@pytest.mark.sandbox
def test_endless_loop_and_slip_cost_only_their_own_item(graded):
    for student in ("endless-loop", "slip-of-the-pen"):
        lost = [v.item for v in _grade(graded, student).verdicts if v.points < v.max_points]
        assert lost == ["ps1_count_ngrams"]


@pytest.mark.slow
@pytest.mark.sandbox
def test_attack_changes_no_page(graded):
    folder, result = graded
    pages = [result.page, *folder.glob("out/feedback/*/ps1/ps1.html")]
    assert len(pages) == 1 + len(result.grades)
    own = (Path(pages_module.__file__).parent / "templates" / "dashboard.js").read_text("utf-8")
    for page in pages:
        text = page.read_text(encoding="utf-8").replace(f"<script>{own}</script>", "")
        assert "<script" not in text  # but for the one that sorts the class
        assert "<img" not in text
