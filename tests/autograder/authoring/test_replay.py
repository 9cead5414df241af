"""Judging what a submission gave by assertions that it never meets."""

import builtins

import numpy as np
import pytest

from autograder.authoring import replay
from autograder.authoring.checks import Check
from autograder.authoring.replay import asserted, calls_of
from autograder.grading.judge import ItemJudge
from autograder.inside.probe import probe_or_failure
from autograder.records import Observation


def verdict(tests, reference, answer, others=()):
    """Judge an answer, given as source, as grading does."""
    check = Check("task", 4, reference.__name__, reference, (asserted("tests", tests, reference),))
    judge, namespace = ItemJudge(), {"np": np}
    exec(answer, namespace)
    seen = [
        Observation(ask.item, ask.part, ask.case, probe_or_failure(ask, namespace))
        for ask in judge.requests(check, 0)
    ]
    found = judge.verdict(check, 0, seen)
    assert not found.fault
    return found


def halves(xs):
    return np.asarray(xs) / 2


def halves_tests(halves):
    secret = [0.5, 1.0]
    np.testing.assert_allclose(halves([1.0, 2.0]), secret, rtol=1e-3)
    assert halves([4.0]).shape == (1,), "keep the shape"
    ### BEGIN HIDDEN TESTS
    for n in range(3):
        assert halves([n])[0] == n / 2, "hidden words"
    ### END HIDDEN TESTS


@pytest.mark.parametrize(
    ("answer", "points"),
    [
        ("def halves(xs): return np.asarray(xs) / 2", 4),
        ("def halves(xs): return [x / 2 for x in xs]", 0),  # an assertion asks for its shape
        ("def halves(xs): return np.asarray(xs) / 2 * 1.0005", 0),  # the hidden ones are exact
        ("def halves(xs): return np.asarray(xs) * 2", 0),
        ("def halves(xs): raise NotImplementedError", 0),
        ("def halves(xs): return None", 0),
        ("halves = 3", 0),
        ("", 0),
    ],
)
def test_answer_earns_points_where_the_assertions_hold(answer, points):
    assert verdict(halves_tests, halves, answer).points == points


def test_tolerance_is_that_of_the_assertion():
    def tests(halves):
        np.testing.assert_allclose(halves([1.0, 2.0]), [0.5, 1.0], rtol=1e-3)

    assert verdict(tests, halves, "def halves(xs): return np.asarray(xs) / 2 * 1.0005").points == 4
    assert verdict(tests, halves, "def halves(xs): return np.asarray(xs) / 2 * 1.002").points == 0


def test_student_reads_what_a_visible_assertion_says_and_nothing_of_a_hidden_one():
    def said(answer):
        (part,) = verdict(halves_tests, halves, answer).parts
        return part.message

    one_deeper = "def halves(xs): return np.asarray(xs if len(xs) > 1 else [xs]) / 2"
    assert said(one_deeper).endswith("an assertion does not hold: keep the shape.")
    assert said("def halves(xs): return np.asarray(xs) / 2 * 1.0005").endswith(
        "With what your halves gives: an assertion does not hold."
    )


def test_what_is_right_never_enters_the_sandbox():
    part = asserted("tests", halves_tests, halves)
    (case,) = part.inputs(np.random.default_rng(0))
    assert [call[1] for call in case.inputs["calls"]] == [
        ([1.0, 2.0],),
        ([4.0],),
        *(([n],) for n in range(3)),
    ]
    assert "secret" not in part.probe_source and "0.5" not in repr(case.inputs)


def test_seeded_draws_changed_arguments_and_exceptions_are_replayed():
    def draw(xs, n):
        if n < 0:
            raise ValueError(n)
        xs += np.random.rand(n).tolist()

    def tests(draw):
        xs = [1.0]
        np.random.seed(5)
        draw(xs, 2)
        np.random.seed(5)
        assert xs == [1.0, *np.random.rand(2)]
        try:
            draw(xs, n=-1)
        except ValueError:
            return
        raise AssertionError

    right = "def draw(xs, n):\n    if n < 0: raise ValueError\n    xs.extend(np.random.rand(n))"
    assert verdict(tests, draw, right).points == 4
    assert verdict(tests, draw, right.replace("ValueError", "KeyError")).points == 0
    assert verdict(tests, draw, right.replace("xs.extend", "list")).points == 0


def test_other_names_and_values_of_the_notebook_are_asked_too():
    def double(x):
        return 2 * x

    def tests(halves, double, limit):
        first = int(halves([2 * limit])[0])
        assert double(first) == 6

    part = asserted("tests", tests, halves, double, 3)
    (case,) = part.inputs(np.random.default_rng(0))
    right = "def halves(xs): return np.asarray(xs) / 2\ndef double(x): return x + x\nlimit = 3"
    wrong = (
        right.replace("limit = 3", "limit = 4"),  # leads to another call than was asked
        right.replace("xs) / 2", "xs) / 2 + 1"),
        right.replace("x + x", "x"),
    )
    for answer in (right, *wrong):
        namespace = {"np": np}
        exec(answer, namespace)
        given = replay.ask(namespace["halves"], case.inputs)
        assert (part.judge(given, None, case.inputs) is None) == (answer == right)


@pytest.mark.parametrize(
    ("reference", "tests", "reason"),
    [
        (halves, lambda halves: None, "it never calls halves"),
        (halves, lambda halves: halves(len), "it calls halves with what cannot leave or enter"),
        (lambda: (i for i in range(3)), lambda f: f(), "f gives what cannot leave or enter"),
        (dict, lambda f: f(), "f is a class"),
        (
            halves,
            lambda halves: halves(halves([1])),
            "with the result of another call to an answer",
        ),
        (halves, lambda halves: halves([1]) + "a", "UFuncTypeError|UFuncNoLoopError|TypeError"),
    ],
)
def test_what_cannot_be_replayed_is_said(reference, tests, reason):
    with pytest.raises(ValueError, match=reason):
        calls_of(tests, reference)


def test_endless_or_huge_answer_stops_nobody_s_judge(monkeypatch):
    monkeypatch.setattr(replay, "_REPLAY_SECONDS", 1)

    def power(n):
        return n

    def tests(power):
        assert 2 ** power(3) == 8
        assert len([0] * power(3)) == 3

    for answer in ("10 ** 11", "10 ** 9 * 40"):
        found = verdict(tests, power, f"def power(n): return {answer}")
        assert found.points == 0 and "come to an end" in found.parts[0].message


@pytest.mark.parametrize("name", ["SystemExit", "print", "KeyboardInterrupt", "UnicodeError", 3])
def test_only_exceptions_of_python_are_raised_again(name):
    made = replay._exception(name)
    assert isinstance(made, Exception)
    assert type(made) in (getattr(builtins, str(name), None), RuntimeError)
