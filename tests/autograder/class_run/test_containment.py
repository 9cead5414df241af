"""Whatever breaks for one student of three, the two others get all that they would have got."""

import errno
import os

import pytest

from autograder.authoring.release import ReleasedSet
from autograder.class_run import plan, student_pages
from autograder.class_run.pipeline import grade_class
from autograder.class_run.settings import Settings
from autograder.lms import export
from autograder.records import FinalScore, GraderError, State
from autograder.reports import instructor_pages
from autograder.store import gradebook
from autograder.store.gradebook import Gradebook
from autograder.store.journal import Journal

BROKEN = "bob"
pytestmark = pytest.mark.usefixtures("without_sandbox")


@pytest.fixture
def trio(toys, hand_in):
    for student in ("ada", BROKEN, "eve"):
        folder = hand_in(student, double=toys.double, mean=toys.mean)
    return folder


@pytest.fixture
def run(toy_course, trio, tmp_path):
    settings = Settings(tmp_path / "out")
    return lambda: grade_class(ReleasedSet(toy_course, "toy"), trio, settings)


def _student(arguments):
    """Whose turn it is, by what a step is given."""
    names = [arguments[0], *(getattr(one, "grade", None) for one in arguments), *arguments]
    found = [getattr(one, "student", None) for one in names]
    return next((name for name in found if name), None)


# Each step of a class that is done for one student, and who says so when it breaks.
STEPS = {
    "read": (plan, "read_notebook", State.REFUSED),
    "time": (plan, "timing_of", State.GRADED),
    "record": (Journal, "write", State.GRADER_FAULT),
    "page": (student_pages.student_feedback, "student_page", State.GRADER_FAULT),
    "notebook for formgrader": (student_pages, "formgrader_notebook", State.GRADER_FAULT),
    "files of a page": (student_pages.StudentPages, "_write_beside", State.GRADER_FAULT),
    "row of the class's page": (instructor_pages, "_student_row", State.GRADER_FAULT),
}
ERRORS = [
    OverflowError("date value out of range"),
    UnicodeEncodeError("utf-8", "\udcff", 0, 1, "surrogates not allowed"),
    RecursionError("too deep"),
    PermissionError(errno.EACCES, "Permission denied", "a file"),
    IsADirectoryError(errno.EISDIR, "Is a directory", "a file"),
]


def break_step(monkeypatch, place, name, error):
    step = getattr(place, name)

    def breaks(*arguments):
        bare = getattr(arguments[0], "state", None) is State.GRADER_FAULT
        if _student(arguments) == BROKEN and not bare:
            raise error
        return step(*arguments)

    monkeypatch.setattr(place, name, breaks)


def assert_others_have_all(out, result, states):
    assert [grade.student for grade in result.grades] == ["ada", BROKEN, "eve"]
    assert [result.grades[n].state for n in (0, 2)] == [State.GRADED] * 2
    assert result.grades[1].state is states
    for student in ("ada", "eve"):
        assert (out / "feedback" / student / "toy" / "toy.html").exists()
        assert (out / "autograded" / student / "toy" / "toy.ipynb").exists()
        assert Journal(out, "toy").read(student).grade.points == 90
    with Gradebook(f"sqlite:///{out / 'gradebook.db'}") as book:
        points = book.machine_points("toy")
    assert points["ada"] == points["eve"] == 90
    page = (out / "dashboard" / "toy" / "index.html").read_text()
    assert all(student in page for student in ("ada", BROKEN, "eve"))


@pytest.mark.parametrize(("place", "name", "state"), STEPS.values(), ids=STEPS)
def test_step_that_breaks_for_one_student_breaks_for_nobody_else(
    run, tmp_path, monkeypatch, place, name, state
):
    with monkeypatch.context() as patched:
        break_step(patched, place, name, ERRORS[0])
        broken = run()
    assert_others_have_all(tmp_path / "out", broken, state)
    said = [*broken.grades[1].reasons, broken.grades[1].timing.note]
    assert any("OverflowError: date value out of range" in reason for reason in said)
    again = run()
    assert {grade.state for grade in again.grades} == {State.GRADED}


@pytest.mark.exhaustive
@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize(("place", "name", "state"), STEPS.values(), ids=STEPS)
def test_step_that_breaks_in_any_way_breaks_for_nobody_else(
    run, tmp_path, monkeypatch, place, name, state, error
):
    break_step(monkeypatch, place, name, error)
    assert_others_have_all(tmp_path / "out", run(), state)


@pytest.mark.parametrize("error", ERRORS[:2], ids=lambda error: type(error).__name__)
def test_scores_that_the_gradebook_does_not_take_keep_nobody_elses_out(
    run, tmp_path, monkeypatch, error
):
    write = gradebook._time

    def breaks(submission, *rest):
        if (submission.student_id or submission.student.id) == BROKEN:
            raise error
        write(submission, *rest)

    monkeypatch.setattr(gradebook, "_time", breaks)
    result = run()
    assert_others_have_all(tmp_path / "out", result, State.GRADER_FAULT)
    assert "it is not in the gradebook" in result.grades[1].reasons[0]


def test_disk_that_takes_nobodys_page_ends_the_run_with_one_message(run, monkeypatch):
    def breaks(*arguments):
        raise PermissionError(errno.EACCES, "Permission denied", "feedback")

    monkeypatch.setattr(student_pages, "write_if_new", breaks)
    with pytest.raises(GraderError, match="feedback cannot be read or written: Permission denied"):
        run()


# ------------------------------------------------------------------ names and texts
@pytest.mark.parametrize(
    "name", [b"notes\xff.txt", b"\xff.ipynb", b"toy\xfe.ipynb", b"folder\xff/toy.ipynb"]
)
def test_name_that_is_no_utf_8_ends_nobodys_grading(run, trio, tmp_path, name):
    folder = trio / BROKEN
    folder.mkdir()
    (trio / f"{BROKEN}.ipynb").rename(folder / "toy.ipynb")
    place = os.path.join(os.fsencode(folder), name)
    os.makedirs(os.path.dirname(place), exist_ok=True)
    with open(place, "w") as file:
        file.write("{}")
    result = run()
    assert_others_have_all(tmp_path / "out", result, result.grades[1].state)
    for page in (tmp_path / "out").rglob("*.html"):
        page.read_text(encoding="utf-8")


def test_two_students_whose_names_are_no_utf_8_stay_two(run, trio, tmp_path):
    notebook = (trio / f"{BROKEN}.ipynb").read_bytes()
    for byte in (b"\xfe", b"\xff"):
        with open(os.path.join(os.fsencode(trio), b"name" + byte + b".ipynb"), "wb") as file:
            file.write(notebook)
    result = run()
    names = [grade.student for grade in result.grades if grade.student.startswith("name")]
    assert len(set(names)) == 2
    assert all(name.isprintable() and name.encode() for name in names)


def test_half_a_surrogate_pair_in_a_notebook_ends_nobodys_grading(run, trio, tmp_path):
    path = trio / f"{BROKEN}.ipynb"
    text = path.read_text().replace("def double(", "# \\ud800\\ndef double(")
    path.write_text(text)
    assert "\\ud800" in text
    result = run()
    assert_others_have_all(tmp_path / "out", result, result.grades[1].state)


# ------------------------------------------------------------------ exports
def test_score_that_a_format_cannot_write_is_left_out_and_named(toy_course):
    scores = [FinalScore(name, 1.0, 90.0, 0.0, "", ()) for name in ("ada", BROKEN, "eve")]
    request = export.ExportRequest(ReleasedSet(toy_course, "toy").outline, scores)

    def write(asked):
        if any(score.student == BROKEN for score in asked.scores):
            raise OverflowError("too large")
        return export.Export(" ".join(score.student for score in asked.scores))

    made = export.write_export(export.Format("csv", "", write), request)
    assert made.text == "ada eve"
    assert made.notes == ("bob is left out: OverflowError: too large",)
