import numpy as np
import pytest
import torch

from autograder.authoring.notebooks import as_text
from autograder.authoring.release import ReleasedSet
from autograder.class_run.pipeline import grade_class
from autograder.class_run.settings import Settings
from autograder.grading.grader import Confinement, Grader
from autograder.grading.visible_tests import (
    VISIBLE,
    differences,
    passed,
    visible_requests,
    visible_tests,
)
from autograder.inside.messages import Failure
from autograder.inside.probe import probe_or_failure
from autograder.inside.process_limits import Limits
from autograder.intake.repair import repair
from autograder.records import Difference, Grade, Observation, State, Verdict
from autograder.reports.student_feedback import student_page

ASKED = visible_requests({"item": ""}, {"item": "f"}, ["item"])


def _ask(test, implementation):
    """Run one visible test on an implementation, as the sandbox would."""
    (request,) = visible_requests({"item": test}, {"item": "f"}, ["item"])
    value = probe_or_failure(request, {"f": implementation})
    return differences([Observation(request.item, request.part, 0, value)], [request])


@pytest.mark.parametrize(
    ("test", "asked", "found", "expected"),
    [
        ("assert f(3) == 4", "f(3)", "6", "4"),
        ("for x in (3, 4):\n    assert f(x) == 6", "f(x)", "8", "6"),
        ("import math\nassert math.isclose(f(0.25), 1.0)", "f(0.25)", "0.5", "1.0"),
        ("assert abs(f(0.25) - 1.5) < 1e-9", "f(0.25)", "0.5", "1.5"),
        ("assert f([0.5, 2.0]) == [3.0]", "f([0.5, 2.0])", (0.5, 2, 0.5, 2), "[3.]"),
        (
            "import torch\nassert torch.allclose(f(torch.ones(3)), torch.zeros(3))",
            "f(torch.ones(3))",
            (2, 2, 2),
            (0, 0, 0),
        ),
    ],
)
def test_first_claim_that_does_not_hold_is_found(test, asked, found, expected):
    assert _ask(test, lambda x: x * 2) == (Difference("item", asked, found, expected),)


@pytest.mark.parametrize(
    "test",
    [
        "assert f(3) == 6",
        "%matplotlib inline\nassert f(3) == 4",
    ],
)
def test_there_may_be_nothing_to_show(test):
    requests = visible_requests({"item": test}, {"item": "f"}, ["item"])
    assert [d for r in requests for d in _ask(r.inputs["test"], lambda x: x * 2)] == []


@pytest.mark.parametrize(
    ("test", "is_met"),
    [
        ("assert f(3) == 6", True),
        ("assert f(3) == 7", False),
        ("assert f(3) > 7", False),  # a claim of which nothing can be shown
        ("f(1)[0]", False),  # breaks
    ],
)
def test_a_test_passes_or_does_not(test, is_met):
    (request,) = visible_requests({"item": test}, {"item": "f"}, ["item"])
    value = probe_or_failure(request, {"f": lambda x: x * 2})
    assert passed([Observation(request.item, request.part, 0, value)], [request]) == {
        "item": is_met
    }


@pytest.mark.parametrize("value", [None, 1, "True", (True,), Failure("timeout", "no answer")])
def test_what_has_another_form_does_not_pass(value):
    assert passed([Observation(VISIBLE, VISIBLE, 0, value)], ASKED) == {"item": False}


@pytest.mark.parametrize(
    ("test", "asked", "says"),
    [
        ("assert f(3) is None, 'nothing for 3'", "f(3) is None", "nothing for 3"),
        ("assert f(3) > 7, f'{f(3)} is small'", "f(3) > 7", "6 is small"),
        ("def g(x):\n    assert f(x) == 7, 'in g'\ng(3)", "f(x) == 7", "in g"),
        ("f(1)[0]\nassert f(1) == 3", "", "TypeError: 'int' object is not subscriptable"),
        ("assert f(Ellipsis) == 3, 'no'", "", "TypeError: unsupported operand"),
    ],
)
def test_claim_about_no_two_values_is_quoted_and_so_is_an_error(test, asked, says):
    (found,) = _ask(test, lambda x: x * 2)
    assert (found.asked, found.found, found.expected) == (asked, "", "")
    assert found.says.startswith(says)


def test_message_of_a_comparison_is_quoted_whole():
    (found,) = _ask("x = f(3)\nassert x == 7, 'seven is\\n' 'expected'", lambda x: x * 2)
    assert found == Difference("item", "x", "6", "7", "seven is\nexpected")


def test_assertion_of_the_answers_own_is_an_error_and_no_claim():
    def picky(x):
        raise AssertionError("too small")

    (found,) = _ask("assert f(3) == 4, 'four'", picky)
    assert (found.asked, found.says) == ("", "AssertionError: too small")


def test_matrices_are_shown_as_text_and_large_ones_cut_short():
    test = "import torch\nassert torch.equal(f(torch.ones(2, 3)), torch.ones(2, 3))"
    (found,) = _ask(test, lambda x: 2 * x)
    assert found.found == "[[2. 2. 2.]\n [2. 2. 2.]]"
    (large,) = _ask("assert f(1) == 0", lambda x: [1.5] * 10_000)
    assert len(large.found) <= 300


@pytest.mark.parametrize(
    "value",
    [
        Failure("timeout", "no answer"),
        None,
        "text",
        ("asked", "found", "expected"),
        (1, "found", "expected", "says"),
        ("asked", "found", "expected", 1),
        ("asked", {"a": 1}, "expected", "says"),
        ("asked", np.zeros(65), "expected", "says"),
        ("asked", np.zeros(3, dtype=np.int8), "expected", "says"),
    ],
)
def test_differences_reject_what_has_another_form(value):
    assert differences([Observation(VISIBLE, VISIBLE, 0, value)], ASKED) == ()


def test_numbers_that_cannot_be_drawn_become_text():
    value = ("f(1)", np.array([1.0, np.nan]), np.array([[1.0]]), "")
    (found,) = differences([Observation(VISIBLE, VISIBLE, 0, value)], ASKED)
    assert (found.found, found.expected) == ("[ 1. nan]", "[[1.]]")


def test_visible_tests_are_those_of_the_released_notebook(toy_course):
    tests = visible_tests(ReleasedSet(toy_course, "toy").notebooks.student)
    assert list(tests) == ["toy_double", "toy_mean"]
    assert "assert double([1, 2]) == [2, 4]" in tests["toy_double"]
    assert "nbgrader_cell" not in "".join(tests.values())


# ------------------------------------------------------------------ in a grade
@pytest.fixture
def grade(toy_course, hand_in, tmp_path):
    def run(**answers):
        folder = hand_in("ada", **answers)
        settings = Settings(tmp_path / "out", confinement=Confinement(Limits(cell_seconds=5)))
        return grade_class(ReleasedSet(toy_course, "toy"), folder, settings).grades[0]

    return run


def test_lost_points_come_with_a_difference(toys, grade, without_sandbox):
    found = grade(double=toys.square, mean=toys.mean)
    values = "double([1, 2])", "[1, 4]", "[2, 4]"
    assert found.differences == (Difference("toy_double", *values, "double every number"),)


def test_right_answers_show_nothing_and_blank_ones_are_not_asked(
    toys, grade, without_sandbox, monkeypatch
):
    asked = []

    def ask(tests, targets, items):
        asked.append(items)
        return visible_requests(tests, targets, items)

    monkeypatch.setattr("autograder.grading.grader.visible_requests", ask)
    assert grade(double=toys.double).differences == ()
    assert asked == [["toy_double"]]


def test_each_visible_test_is_said_to_pass_or_not(toys, grade, without_sandbox):
    assert grade(double=toys.square, mean=toys.mean).visible == {
        "toy_double": False,
        "toy_mean": True,
    }


def test_visible_tests_are_asked_in_one_process_before_anything_hidden(
    toys, grade, without_sandbox, monkeypatch
):
    asked = []
    judge = Grader.judge

    def watched(self, *args):
        run, *judged = judge(self, *args)
        asked.extend(observation.item for observation in run.observations)
        return run, *judged

    monkeypatch.setattr(Grader, "judge", watched)
    grade(double=toys.square, mean=toys.mean)
    assert asked[:2] == [VISIBLE, VISIBLE] and VISIBLE not in asked[2:]


REMEMBERS = """
import builtins, os
seen = builtins.__dict__.setdefault("seen", [])
def double(numbers):
    seen.append(list(numbers))
    for folder in (".", "/tmp", "/dev/shm"):
        try:
            with open(os.path.join(folder, "seen"), "a") as file:
                file.write(repr(numbers))
        except OSError:
            pass
    if numbers == [1, 2]:
        found = repr(seen)
        for folder in (".", "/tmp", "/dev/shm"):
            try:
                found += open(os.path.join(folder, "seen")).read()
            except OSError:
                pass
        return found
    return numbers
"""


@pytest.mark.sandbox
def test_no_hidden_input_reaches_the_page_though_code_remembers_all_that_it_saw(grade, tmp_path):
    (found,) = grade(double=REMEMBERS).differences
    # The test calls the function once, and then its left side is worked out once more.
    visible = "[1, 2]"
    assert found.found.replace(visible, "").strip("'[], ") == ""
    assert visible in found.found
    page = (tmp_path / "out" / "feedback" / "ada" / "toy" / "toy.html").read_text()
    assert found.asked in page


# ------------------------------------------------------------------ on the page
def _page(toys, toy_course, difference):
    released = ReleasedSet(toy_course, "toy")
    notebook = toys.answer(toy_course, toys.square, toys.mean)
    repaired = repair(as_text(notebook).encode(), released)
    verdict = Verdict("toy_double", 0.0, 60.0, ())
    grade = Grade("ada", "toy", State.GRADED, "ab", 7, (verdict,), differences=(difference,))
    return student_page(released.outline, grade, repaired, {})


def test_page_draws_numbers_and_says_them(toys, toy_course, read_page):
    difference = Difference("toy_double", "double(x)", (1.0, 4.0, 9.0), (1.0, 2.0, 3.0))
    page = read_page(_page(toys, toy_course, difference))
    assert page.tags.count("circle") == page.tags.count("path") == 3
    labels = [value for name, value in page.attributes if name == "aria-label"]
    assert any("the largest difference is 6, at index 2" in label for label in labels)
    assert "Yours [1, 4, 9] Expected [1, 2, 3]" in page.words
    heights = [float(value) for name, value in page.attributes if name == "cy"]
    assert heights == [110.0, 97.5, 85.0]  # 110 - 100 (value - 1) / 8


@pytest.mark.parametrize("expected", ["[2, 4]", (1.0, 2.0)])
def test_page_only_says_what_cannot_be_drawn(toys, toy_course, read_page, expected):
    hostile = "<script>alert(1)</script>"
    difference = Difference("toy_double", hostile, (1.0, 4.0, 9.0), expected)
    page = read_page(_page(toys, toy_course, difference))
    assert not {"svg", "script"} & set(page.tags)
    assert hostile in page.text


@pytest.mark.parametrize(
    ("difference", "words"),
    [
        (
            ("f(1)", "2", "3", "add <one>"),
            "f(1) should be something else: The test says: add <one>",
        ),
        (("f(1) > 3", "", "", "large"), "this does not hold: f(1) > 3 The test says: large"),
        (("", "", "", "TypeError: no"), "The visible test stops with an error: TypeError: no"),
    ],
)
def test_page_quotes_the_visible_test(toys, toy_course, read_page, difference, words):
    page = read_page(_page(toys, toy_course, Difference("toy_double", *difference)))
    assert words in page.words
    assert ("Expected" in page.words) == bool(difference[1])


def test_constant_numbers_are_drawn_on_one_line(toys, toy_course, read_page):
    difference = Difference("toy_double", "f(x)", (2.0, 2.0), (2.0, 2.0))
    page = read_page(_page(toys, toy_course, difference))
    assert {value for name, value in page.attributes if name == "cy"} == {"110.0"}


def test_difference_of_a_tensor_that_carries_a_gradient(toys):
    test = "import torch\nassert torch.equal(f(torch.ones(2)), torch.ones(2))"
    (found,) = _ask(test, lambda x: 3 * x * torch.ones(2, requires_grad=True))
    assert found.found == (3, 3)
