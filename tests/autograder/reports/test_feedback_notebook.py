"""The notebook of feedback says what the page says, and nothing that the page must not say."""

import dataclasses

import nbformat
import pytest

from autograder.authoring.notebooks import as_text
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
from autograder.reports.feedback_notebook import feedback_notebook

SECRET = "inputs: [0.125] expected: [0.25] observed: [0.015625]"
HOSTILE = "</code><img src=x onerror=alert(1)> [x](javascript:alert(1)) $\\href{javascript:x}{y}$"
DOUBLE = Verdict(
    "toy_double",
    20.0,
    60.0,
    (PartVerdict("values", False, 2.0, "It is too large.", SECRET), PartVerdict("empty", True, 1)),
    Misconception("squares", "Twice a number is not its square."),
)
TIMING = Timing(
    submitted="2026-10-14T11:00:00+02:00",
    due="2026-10-12T12:00:00+02:00",
    seconds_late=169_200,
    penalty=10,
    late_days=1,
    late_days_left=0,
)


@pytest.fixture
def shown(toy_course, toys):
    """Return the notebook's Markdown and its code, for the page of a hostile student."""
    released = ReleasedSet(toy_course, "toy")
    repaired = repair(
        as_text(toys.answer(toy_course, toys.square, toys.mean, HOSTILE)).encode(), released
    )

    def show(grade, by_hand=None, repaired=repaired):
        made = feedback_notebook(released.outline, grade, repaired, by_hand or {})
        nbformat.validate(made)
        kinds = ("markdown", "code")
        return ["\n".join(c.source for c in made.cells if c.cell_type == kind) for kind in kinds]

    return show


def _grade(**changes):
    there = {"student": HOSTILE, "timing": TIMING, "reasons": (HOSTILE,)} | changes
    cells = (CellResult(0, HOSTILE, HOSTILE),)
    grade = Grade("ada", "toy", State.GRADED, "ab" * 32, 7, (DOUBLE,), cells=cells)
    found = (Difference("toy_double", "double([1, 2])", HOSTILE, (2.0, 4.0)),)
    return dataclasses.replace(grade, differences=found, **there)


def test_notebook_shows_points_reasons_and_late_days(shown):
    text, code = shown(_grade(), {"toy_essay": HandGrade(7.0, "Well said.")})
    for words in (
        "**17** of 70 points, and 30 more are still to be given.",
        "it came 2 days late: 1 late day spent, 10 points taken off.",
        "After this set you have 0 late days left.",
        "## 1. Double: 20 of 60 points",
        "\u2717 It is too large. (not met, 40 points)",
        "**A likely cause.** Twice a number is not its square.",
        "    double([1, 2])",
        "    [2, 4]",
        "## 3. Why?: 7 of 10 points",
        "Well said.",
    ):
        assert words in text
    assert "number * number" in code


def test_notebook_names_what_points_were_kept_for_and_both_causes(shown):
    minus = Misconception("It has a minus.", "Look at the sign.")
    verdict = dataclasses.replace(DOUBLE, points=30.0, second=minus, kept=True)
    text, _ = shown(_grade(verdicts=(verdict,)))
    assert "30 of 60 points: right but for this. squares It has a minus." in text
    assert "**One of two causes.** Twice a number is not its square." in text
    assert "**The other cause.** Look at the sign." in text


@pytest.mark.parametrize(
    ("difference", "words"),
    [
        (("f(1)", "2", "3", "add one"), "something else:\n\n    f(1)\n\nThe test says: add one"),
        (("f(1) > 3", "", "", "big"), "does not hold:\n\n    f(1) > 3\n\nThe test says: big"),
        (("", "", "", "TypeError: no"), "stops with an error:\n\n    TypeError: no"),
    ],
)
def test_notebook_quotes_the_visible_test(shown, difference, words):
    found = (Difference("toy_double", *difference),)
    text, _ = shown(dataclasses.replace(_grade(), differences=found))
    assert words in text
    assert ("Expected:" in text) == bool(difference[1])


def test_nothing_hidden_stands_in_the_notebook_and_nothing_in_it_acts(shown):
    text, code = shown(_grade())
    assert SECRET not in text + code and "0.125" not in text + code
    assert "<img" not in text and "](javascript" not in text and "\\href" not in text
    assert "\\\u200bhref" in text  # it can still be read


def test_refused_notebook_is_said_to_be_so(shown):
    refused = _grade(state=State.REFUSED, reasons=("it is not JSON",), verdicts=(), cells=())
    text, code = shown(refused, repaired=None)
    assert "**Your notebook could not be graded.**" in text and "- it is not JSON" in text
    assert " of " not in text.partition("\n\n")[2] and not code
