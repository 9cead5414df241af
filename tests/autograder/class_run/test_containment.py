"""Whatever breaks for one student of three, the two others get all that they would have got."""

import errno
import os

import pytest
from click.testing import CliRunner

from autograder.authoring.release import ReleasedSet
from autograder.class_run import plan, student_pages
from autograder.class_run.late_days import LateDays
from autograder.class_run.leaderboard import make_leaderboard
from autograder.class_run.pipeline import grade_class
from autograder.class_run.settings import Settings
from autograder.cli.main import main
from autograder.grading import judge_process
from autograder.grading.watched_process import JudgingLimits
from autograder.intake import archives, collection
from autograder.intake.repair import repair
from autograder.lms import export, give_back
from autograder.records import FinalScore, GraderError, State
from autograder.reports import instructor_pages, similarity_report
from autograder.store import formgrader_notebook, gradebook
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
    if isinstance(arguments[0], str):
        return arguments[0]
    names = [arguments[0], *(getattr(one, "grade", None) for one in arguments), *arguments]
    found = [getattr(one, "student", None) for one in names]
    return next((name for name in found if name), None)


# Each step of a class that is done for one student, and who says so when it breaks.
STEPS = {
    "choice of a file": (collection, "choose", State.REFUSED),
    "late days": (LateDays, "apply", State.GRADER_FAULT),
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

    def breaks(*arguments, **named):
        bare = getattr(arguments[0], "state", None) is State.GRADER_FAULT
        if _student(arguments) == BROKEN and not bare:
            raise error
        return step(*arguments, **named)

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
    write = gradebook.write_time

    def breaks(submission, *rest):
        if (submission.student_id or submission.student.id) == BROKEN:
            raise error
        write(submission, *rest)

    monkeypatch.setattr(gradebook, "write_time", breaks)
    result = run()
    assert_others_have_all(tmp_path / "out", result, State.GRADER_FAULT)
    assert "it is not in the gradebook" in result.grades[1].reasons[0]


def test_disk_that_takes_nobodys_page_ends_the_run_with_one_message(run, monkeypatch):
    def breaks(*arguments):
        raise PermissionError(errno.EACCES, "Permission denied", "feedback")

    monkeypatch.setattr(formgrader_notebook, "write_if_new", breaks)
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


def test_student_who_fills_the_folder_ends_nobodys_grading(run, trio, monkeypatch):
    monkeypatch.setattr(archives, "_MAX_ENTRIES_OF_ONE", 50)
    full = trio / "eve-and-more"
    full.mkdir()
    for number in range(200):
        (full / f"{number}").touch()
    states = {grade.student: (grade.state, grade.points) for grade in run().grades}
    assert states.pop("eve-and-more")[0] is State.REFUSED
    assert states == dict.fromkeys(("ada", BROKEN, "eve"), (State.GRADED, 90.0))


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


# ------------------------------------------------------------------ other commands on a class
def breaks_on(step, is_broken, error=ERRORS[0]):
    """Let a step fail where it meets one student's things."""

    def breaks(*arguments):
        if is_broken(*arguments):
            raise error
        return step(*arguments)

    return breaks


def test_dry_run_says_of_one_student_what_broke(run, toy_course, trio, tmp_path, monkeypatch):
    (trio / f"{BROKEN}.ipynb").write_text("{}")
    monkeypatch.setattr(plan, "repair", breaks_on(repair, lambda data, _: data == b"{}"))
    released = ReleasedSet(toy_course, "toy")
    found = plan.plan(released, trio, Settings(tmp_path / "out"))
    assert [one.action for one in found] == ["grade", "refuse", "grade"]
    assert "OverflowError: date value out of range" in found[1].reason


COPIED = "def double(numbers):\n    assert numbers\r    return [2 * n for n in numbers]\r"


def test_answer_that_cannot_be_compared_is_named_and_all_others_are(
    run, toys, toy_course, trio, hand_in, tmp_path, monkeypatch
):
    """Python ends lines at carriage returns, too: who counted lines otherwise fell over one."""
    hand_in(BROKEN, double=COPIED, mean=toys.mean)
    run()
    released = ReleasedSet(toy_course, "toy")
    report = similarity_report.examine(released, tmp_path / "out")
    assert (report.n_students, report.left_out) == (3, ())
    fingerprint = similarity_report.fingerprint_code
    broken = breaks_on(fingerprint, lambda code: "assert numbers" in code)
    monkeypatch.setattr(similarity_report, "fingerprint_code", broken)
    report = similarity_report.examine(released, tmp_path / "out")
    assert report.n_students == 2
    assert report.left_out == ("bob is left out: OverflowError: date value out of range",)


CHALLENGE = """
from dataclasses import replace
from autograder.authoring.checks import Challenge

def _doubled(observed, expected, inputs):
    return None if [float(x) for x in observed] == expected else "wrong"

_PART = Part("values", "Right.", _numbers, _ask, judge=_doubled)
_SCORED = Check("toy_challenge", 1.0, "fast", _double, (_PART,), seconds=5.0)
def _score(values, withheld):
    return {list: 1.0}[type(values[0])]

def _unending(values, withheld):
    return 1.0 if type(values[0]) is list else float(3 ** 10**9)

PROBLEM_SET = replace(PROBLEM_SET, challenge=Challenge("Double.", _SCORED, "ours", {score}))
"""
FAST = "def fast(numbers):\n    return [2 * n for n in numbers]\n"


@pytest.mark.parametrize(
    "score, why", [("_score", "raised KeyError"), ("_unending", "did not end within 0.2 s of CPU")]
)
def test_answer_that_breaks_a_score_leaves_the_leaderboard_standing(
    toys, toy_course, hand_in, tmp_path, monkeypatch, score, why
):
    monkeypatch.setattr(judge_process, "LIMITS", JudgingLimits(item_seconds=0.2))
    source = toy_course.folder / "toy" / "notebook.py"
    source.write_text(f'{source.read_text()}\n# %% tags=["workshop"]\n{FAST}')
    checks = source.with_name("problem_set.py")
    checks.write_text(checks.read_text() + CHALLENGE.replace("{score}", score))
    (toy_course.folder / "course.toml").write_text('[leaderboard]\nsets = ["toy"]\n')
    for student in ("ada", BROKEN, "eve"):
        notebook = toys.answer(toy_course, double=toys.double)
        own = FAST.replace("[", "tuple(").replace("]", ")") if student == BROKEN else FAST
        notebook.cells[-1].source = f"{own}# {student}"
        folder = hand_in(student, notebook)
    settings = Settings(tmp_path / "out")
    grade_class(ReleasedSet(toy_course, "toy"), folder, settings)
    board = make_leaderboard(ReleasedSet(toy_course, "toy"), settings)
    assert {entry.student for entry in board.ranked} == {"", "ada", "eve"}
    (unranked,) = board.unranked
    assert unranked.student == BROKEN
    assert unranked.problem.startswith(f"it cannot be scored: computing the score {why}")


@pytest.mark.parametrize("way", ["canvas", "mail"])
def test_feedback_that_cannot_be_packed_is_left_out_and_named(
    toys, toy_course, hand_in, tmp_path, monkeypatch, way
):
    for number, student in enumerate(("ada", BROKEN, "eve")):
        name = f"{student}_{number + 77}_{number}_toy"
        folder = hand_in(name, double=toys.double, mean=toys.mean)
    out = tmp_path / "out"
    grade_class(ReleasedSet(toy_course, "toy"), folder, Settings(out))
    if way == "canvas":
        step = give_back.feedback_notebook
        broken = breaks_on(step, lambda outline, grade, *_: grade.student.startswith(BROKEN))
        monkeypatch.setattr(give_back, "feedback_notebook", broken)
    else:
        step = give_back.write_if_new
        error = IsADirectoryError(errno.EISDIR, "Is a directory")
        broken = breaks_on(step, lambda path, data: path.name.startswith(BROKEN), error)
        monkeypatch.setattr(give_back, "write_if_new", broken)
    command = ["--course", str(toy_course.folder), "feedback", "toy", "--to", way]
    done = CliRunner().invoke(main, [*command, "--out", str(out)])
    assert "feedback for 2 students" in done.stdout, done.output
    assert "bob_78 is left out" in done.output


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
