import dataclasses
import itertools

import pytest

from autograder.authoring.notebooks import as_text
from autograder.authoring.outline import Item
from autograder.authoring.release import ReleasedSet
from autograder.intake.repair import repair
from autograder.records import (
    CellResult,
    Difference,
    Grade,
    HandGrade,
    Misconception,
    PartVerdict,
    State,
    Timing,
    Verdict,
)
from autograder.reports.instructor_pages import class_page, total
from autograder.reports.student_feedback import _student_row, student_page

SECRET = "inputs: [0.125] expected: [0.25] observed: [0.015625]"
DOUBLE = Verdict(
    "toy_double",
    20.0,
    60.0,
    (
        PartVerdict("values", False, 2.0, "Every number is doubled. It is too large.", SECRET),
        PartVerdict("empty", True, 1.0),
    ),
    Misconception("squares", "Twice a number is not its square."),
)
MEAN = Verdict("toy_mean", 30.0, 30.0, (PartVerdict("values", True, 1.0),))
GRADE = Grade("ada", "toy", State.GRADED, "ab" * 32, 7, (DOUBLE, MEAN), isolation="bubblewrap")
HOSTILE = "</code></pre><script>alert(1)</script><img src=x onerror=alert(1)>{{ 7*7 }}"


@pytest.fixture
def released(toy_course):
    return ReleasedSet(toy_course, "toy")


@pytest.fixture
def outline(released):
    return released.outline


@pytest.fixture
def repaired(toy_course, toys, released):
    notebook = toys.answer(toy_course, toys.square, toys.mean, "Because.")
    return repair(as_text(notebook).encode(), released)


def test_pages_are_called_by_the_sets_name_too(outline, repaired):
    assert outline.heading == "toy: Toy set"
    assert dataclasses.replace(outline, title="toy").heading == "toy"  # a set without a title
    for page in (student_page(outline, GRADE, repaired, {}), class_page(outline, [GRADE], {})):
        assert "<title>toy: Toy set: " in page and "<h1>toy: Toy set</h1>" in page


def test_outline_reads_titles_points_and_hand_graded_questions_off_the_notebook(outline):
    assert [(i.name, i.title, i.points, i.by_hand) for i in outline.items] == [
        ("toy_double", "1. Double", 60, False),
        ("toy_mean", "2. Mean", 30, False),
        ("toy_essay", "3. Why?", 10, True),
    ]
    assert outline.points == 100


def test_student_page_says_points_what_is_wrong_and_why(outline, repaired, read_page):
    words = read_page(student_page(outline, GRADE, repaired, {})).words
    assert "50 of 90 points, and 10 more are still to be given" in words
    assert "Every number is doubled. It is too large. (not met, 40 points)" in words
    assert "An empty list stays empty. (met, 20 points)" in words
    assert "A likely cause. Twice a number is not its square." in words
    assert "return [number * number for number in numbers]" in words
    assert "A person reads this answer. It has not been graded yet." in words


MINUS = Misconception("It has a minus.", "Look at the sign.")
KEPT = dataclasses.replace(DOUBLE, points=30.0, second=MINUS, kept=True)


def test_student_page_names_what_points_were_kept_for_and_both_causes(outline, repaired, read_page):
    grade = dataclasses.replace(GRADE, verdicts=(KEPT, MEAN))
    words = read_page(student_page(outline, grade, repaired, {})).words
    assert "30 of 60 points: right but for this. squares It has a minus." in words
    assert "One of two causes. Twice a number is not its square." in words
    assert "The other cause. Look at the sign." in words


def test_student_page_is_silent_on_kept_points_where_a_person_gave_others(
    outline, repaired, read_page
):
    grade = dataclasses.replace(GRADE, verdicts=(KEPT, MEAN))
    given = {"toy_double": HandGrade(45)}
    words = read_page(student_page(outline, grade, repaired, given)).words
    assert "right but for this" not in words


def test_student_page_shows_nothing_hidden(outline, repaired):
    page = student_page(outline, GRADE, repaired, {})
    for hidden in ("0.125", "0.25", "0.015625", "expected", "nbgrader_cell", "squares<", "seed"):
        assert hidden not in page, hidden


def test_difference_is_shown_only_where_points_are_lost(outline, repaired):
    found = [Difference(name, f"asked {name}", "1", "2") for name in ("toy_double", "toy_mean")]
    grade = dataclasses.replace(GRADE, differences=tuple(found))
    page = student_page(outline, grade, repaired, {})
    assert "asked toy_double" in page
    assert "asked toy_mean" not in page


def test_student_page_shows_points_and_comment_of_a_person(outline, repaired, read_page):
    given_by_hand = {"toy_essay": HandGrade(7.5, "Well <b>said</b>"), "toy_double": HandGrade(45)}
    words = read_page(student_page(outline, GRADE, repaired, given_by_hand)).words
    assert "82.5 of 100 points" in words
    assert "Well <b>said</b>" in words
    assert "45 of 60" in words


def test_extra_credit_is_shown_alike_on_page_class_page_and_table(outline, repaired, read_page):
    given = {
        "toy_double": HandGrade(None, extra=5.0),
        "toy_essay": HandGrade(7.0, "", True, 1.0, True),
    }
    words = read_page(student_page(outline, GRADE, repaired, given)).words
    assert "25 of 60" in words and "A person gave 5 points of extra credit." in words
    assert (
        "8 of 10" in words and "A person gave these points, and 1 point of extra credit." in words
    )
    assert words.count("That was for what you had handed in before") == 1
    assert total(GRADE, {"ada": given}) == 20 + 5 + 30 + 8
    assert (
        "1 answer waits for a person"
        in read_page(class_page(outline, [GRADE], {"ada": given})).words
    )


def test_student_page_of_a_blank_notebook_does_not_lecture(outline, released, read_page):
    blank = repair(as_text(released.notebooks.student).encode(), released)
    nothing = tuple(dataclasses.replace(v, points=0.0) for v in GRADE.verdicts)
    page = student_page(outline, dataclasses.replace(GRADE, verdicts=nothing), blank, {})
    words = read_page(page).words
    assert words.count("You left this one blank.") == 3
    assert "0 of 100 points" in words
    assert "too large" not in words


def test_student_page_of_a_refused_file_says_why_and_what_to_do(outline, read_page):
    nothing = tuple(dataclasses.replace(v, points=0.0) for v in GRADE.verdicts)
    reason = "only toy.py; hand in toy.ipynb itself"
    timing = Timing(due="2026-02-01T12:00:00+00:00", seconds_late=3600)
    refused = Grade(
        "ada", "toy", State.REFUSED, "", 7, verdicts=nothing, reasons=(reason,), timing=timing
    )
    words = read_page(student_page(outline, refused, None, {})).words
    assert "could not be graded" in words and f"{reason}." in words
    assert "No points have been given yet." in words and "late." in words
    assert "0 of" not in words


def test_student_page_shows_cells_that_failed(outline, repaired, read_page):
    cells = (CellResult(0, ""), CellResult(1, "", "NameError: name 'x' is not defined"))
    page = student_page(outline, dataclasses.replace(GRADE, cells=cells), repaired, {})
    words = read_page(page).words
    assert "NameError: name 'x' is not defined" in words
    assert "def double(numbers):" in words


@pytest.mark.parametrize("place", ["student", "code", "essay", "reason", "message", "error"])
def test_nothing_that_a_student_wrote_becomes_markup(
    outline, toy_course, toys, released, place, read_page
):
    code = toys.double + (f"\n# {HOSTILE}" if place == "code" else "")
    essay = HOSTILE if place == "essay" else "Because."
    notebook = toys.answer(toy_course, code, toys.mean, essay)
    repaired = repair(as_text(notebook).encode(), released)
    part = PartVerdict("values", False, 1.0, HOSTILE if place == "message" else "wrong")
    grade = dataclasses.replace(
        GRADE,
        student=HOSTILE if place == "student" else "ada",
        verdicts=(dataclasses.replace(DOUBLE, parts=(part,)), MEAN),
        reasons=(HOSTILE,) if place == "reason" else (),
        cells=(CellResult(0, "", HOSTILE if place == "error" else "NameError"),),
    )
    for page in (student_page(outline, grade, repaired, {}), class_page(outline, [grade], {})):
        parsed = read_page(page)
        assert not {"img", "iframe", "link", "object"} & set(parsed.tags)
        assert parsed.tags.count("script") == ("script-src" in page)
        assert not any(name.startswith("on") for name, _ in parsed.attributes)
        assert "49" not in parsed.words
    if place != "reason":
        assert HOSTILE in read_page(student_page(outline, grade, repaired, {})).text


def test_pages_ask_for_nothing(outline, repaired, read_page):
    for page in (student_page(outline, GRADE, repaired, {}), class_page(outline, [GRADE], {})):
        assert "default-src 'none'" in page
        assert "http" not in page.replace("http-equiv", "")
        assert read_page(page).tags.count("html") == 1


def test_pages_are_made_for_everybody(outline, repaired, read_page):
    """The rules that a machine can check: language, title, one main heading, order, labels."""
    for page in (student_page(outline, GRADE, repaired, {}), class_page(outline, [GRADE], {})):
        parsed = read_page(page)
        assert ("lang", "en") in parsed.attributes
        assert (
            parsed.tags.count("h1") == parsed.tags.count("title") == parsed.tags.count("main") == 1
        )
        levels = [int(tag[1]) for tag in parsed.tags if tag in ("h1", "h2", "h3", "h4")]
        assert all(b - a <= 1 for a, b in itertools.pairwise(levels))
        assert parsed.tags.count("th") == page.count("<th scope=")
        ids = [value for name, value in parsed.attributes if name == "id"]
        assert len(ids) == len(set(ids))


def test_bars_never_leave_their_track(outline, repaired):
    page = student_page(outline, GRADE, repaired, {"toy_double": HandGrade(600.0)})
    assert "width: 100%" in page.replace("100.0%", "100%")
    assert "width: 1000" not in page


def test_a_test_of_implementations_is_told_how_many_it_told_and_which_mistakes_it_missed():
    says = {"right 1": "Right ones.", "right 2": "Right ones.", "wrong 1": "Wrong ones."}
    item = Item("i", "Judge", 6.0, False, {**says, "wrong 2": "Wrong ones."}, is_counted=True)
    missed = PartVerdict("wrong 2", False, 0.5, "Wrong ones. The mask is not used: accepted.")
    parts = (*(PartVerdict(name, True, 0.5) for name in says), missed)
    seen = _student_row(item, Verdict("i", 3.0, 6.0, parts), None, None)["parts"]
    assert [(part["says"], part["passed"], part["points"]) for part in seen] == [
        ("Right ones. That holds for 2 of 2.", True, 0.0),
        ("Wrong ones. That holds for 1 of 2.", False, 0.0),
        (missed.message, False, 0.0),
    ]
