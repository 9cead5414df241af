"""Probing in plain processes: whatever an answer does, there is one observation a request."""

import os
import time

import pytest

from autograder.grading import diagnosis
from autograder.inside.messages import Failure, ProbeRequest
from autograder.validation.plain_process import observe, observe_each

PROBE = "def ask(implementation, inputs):\n    return implementation(inputs['numbers'])\n"


def _requests(*numbers):
    shared = {"numbers": list(numbers)}
    return [ProbeRequest("toy", "values", case, "f", PROBE, shared, 1.0) for case in range(2)]


def _values(answer, **options):
    observed = observe(_requests(3, 5), answer, **options)
    assert [(seen.item, seen.part, seen.case) for seen in observed.observations] == [
        ("toy", "values", 0),
        ("toy", "values", 1),
    ]
    return [seen.value for seen in observed.observations], observed.complaint


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
        (lambda: {"f": lambda numbers: numbers[9]}, "unusable", "IndexError"),
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


def _forever(numbers):
    while True:
        pass


def test_observe_stops_each_request_of_what_is_known_never_to_end(monkeypatch):
    monkeypatch.setattr(diagnosis, "ENDLESS_CPU_SECONDS", 0.1)

    def now_and_then(numbers, calls=[]):  # noqa: B006 (it counts its calls)
        calls.append(1)
        return sum(numbers) if len(calls) > 1 else _forever(numbers)

    kinds = ["timeout", "timeout"]  # as in grading, no later case of its part is asked
    for answer in (_forever, now_and_then):
        observed = observe(_requests(3), lambda f=answer: {"f": f}, endless=True)
        values = [seen.value for seen in observed.observations]
        assert [value.kind for value in values if isinstance(value, Failure)] == kinds
        assert observed.n_stopped == len(kinds)
        assert not observed.killed


def test_observe_kills_what_computes_without_end_but_lets_anything_wait():
    def patient(numbers):
        time.sleep(1.2)
        return sum(numbers)

    for f, kinds in ((_forever, ["timeout", "timeout"]), (patient, [])):
        observed = observe(_requests(3), lambda f=f: {"f": f}, cpu_seconds=1)
        values = [seen.value for seen in observed.observations]
        assert [value.kind for value in values if isinstance(value, Failure)] == kinds
        assert observed.killed == bool(kinds)


@pytest.mark.parametrize(
    ("tests", "expected"),
    [("assert f([1]) == 1", None), ("assert f([1]) == 2, 'not 2'", "AssertionError: not 2")],
)
def test_observe_reports_the_first_complaint_of_the_tests(tests, expected):
    observed = observe([], lambda: {"f": sum}, tests)
    assert (observed.observations, observed.complaint) == ((), expected)


def test_answer_that_ends_the_process_leaves_those_after_it_alone():
    answers = [sum, max, lambda numbers: os._exit(0), min, lambda numbers: os._exit(0)]
    namespaces = [lambda f=f: {"f": f} for f in answers]
    found = observe_each(_requests(3, 5), namespaces, "assert f([1]) == 1")
    values = [[seen.value for seen in one.observations] for one in found]
    assert [v for v in values if not isinstance(v[0], Failure)] == [[8, 8], [5, 5], [3, 3]]
    assert [v[0].kind for v in (values[2], values[4])] == ["crash", "crash"]
