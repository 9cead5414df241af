"""Probing in plain processes: whatever an answer does, there is one observation a request."""

import os
import time

import pytest

from autograder.inside.messages import Failure, ProbeRequest
from autograder.validation.plain_process import observe

PROBE = "def ask(implementation, inputs):\n    return implementation(inputs['numbers'])\n"


def _requests(*numbers):
    shared = {"numbers": list(numbers)}
    return [ProbeRequest("toy", "values", case, "f", PROBE, shared, 1.0) for case in range(2)]


def _values(answer, seconds=20.0):
    observations, complaint = observe(_requests(3, 5), answer, seconds)
    assert [(seen.item, seen.part, seen.case) for seen in observations] == [
        ("toy", "values", 0),
        ("toy", "values", 1),
    ]
    return [seen.value for seen in observations], complaint


def test_observe_returns_plain_values():
    assert _values(lambda: {"f": sum}) == ([8, 8], None)


def test_observe_gives_each_request_inputs_of_its_own():
    def consume(numbers):
        return [numbers.pop(), len(numbers)]

    assert _values(lambda: {"f": consume})[0] == [[5, 1], [5, 1]]


@pytest.mark.parametrize(
    ("answer", "kind", "message"),
    [
        (lambda: {}, "missing", "f is not defined"),
        (lambda: {"f": lambda numbers: numbers[9]}, "exception", "IndexError"),
        (lambda: 1 / 0, "exception", "ZeroDivisionError"),
        (lambda: {"f": lambda numbers: object()}, "refused", "object"),
        (lambda: {"f": lambda numbers: os._exit(0)}, "crash", "without an answer"),
    ],
)
def test_observe_records_what_came_instead(answer, kind, message):
    values, _ = _values(answer)
    for value in values:
        assert isinstance(value, Failure)
        assert value.kind == kind
        assert message in value.message


def test_observe_ends_what_never_ends():
    def forever(numbers):
        while True:
            pass

    values, complaint = _values(lambda: {"f": forever}, seconds=0.3)
    assert [value.kind for value in values] == ["timeout", "timeout"]
    assert complaint == "no answer within the time limit"


def test_observe_ends_what_computes_too_long_but_lets_it_wait():
    def forever(numbers):
        while True:
            pass

    def patient(numbers):
        time.sleep(1.2)
        return sum(numbers)

    for f, kinds in ((forever, ["crash", "crash"]), (patient, [])):
        observations, _ = observe(_requests(3), lambda f=f: {"f": f}, 300.0, cpu_seconds=1)
        assert [o.value.kind for o in observations if isinstance(o.value, Failure)] == kinds


@pytest.mark.parametrize(
    ("tests", "expected"),
    [("assert f([1]) == 1", None), ("assert f([1]) == 2, 'not 2'", "AssertionError: not 2")],
)
def test_observe_reports_the_first_complaint_of_the_tests(tests, expected):
    assert observe([], lambda: {"f": sum}, 20.0, tests) == ((), expected)
