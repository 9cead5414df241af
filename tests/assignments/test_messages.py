"""What the sets say about an answer never repeats what the answer chose to say."""

import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch

from assignments.tensors import by_argument, near
from autograder.authoring.checks import Check, Part
from autograder.authoring.course import find_course
from autograder.grading.judge import ItemJudge
from autograder.inside.messages import ProbeRequest
from tests.assignments.notebooks import ask
from tests.autograder.attacks.echoes import CHOSEN, echoes, numbers_in

COURSE = find_course(Path(__file__).parents[2] / "assignments")
CHECKS = [check for name in COURSE.sets() for check in COURSE.problem_set(name).checks]


@cache
def smallest_cases(item: str) -> list[tuple[Part, ProbeRequest, Any]]:
    """List each part with its smallest case, and what the reference version answers to that."""
    (check,) = (check for check in CHECKS if check.item == item)
    parts = {part.name: part for part in check.parts}
    return [
        (parts.pop(request.part), request, ask(request, check.reference))
        for request in ItemJudge().requests(check, seed=1)
        if request.part in parts
    ]


@pytest.mark.parametrize("check", CHECKS, ids=[check.item for check in CHECKS])
def test_no_message_holds_what_an_answer_chose(check: Check):
    for part, request, expected in smallest_cases(check.item):
        announced = numbers_in(part.requirement)
        for answer in echoes(expected):
            try:
                said = part.judge(answer, expected, request.inputs) or ""
            except Exception:  # the grader then says that the result has another form
                continue
            assert numbers_in(said) <= announced, part.name
            assert not [word for word in CHOSEN if word in said], part.name


CHANGES_SOMETHING = "the call changes something besides its result"


@pytest.mark.parametrize("check", CHECKS, ids=[check.item for check in CHECKS])
def test_whatever_else_changes_is_named(check: Check):
    """Each thing in turn is another than the reference leaves it, and all else is as it was."""
    for part, request, found in smallest_cases(check.item):
        if part.name != "nothing else changes":
            continue
        expected, _ = found
        for place in range(1, len(expected)):
            observed = (*expected[:place], _another(expected[place]), *expected[place + 1 :])
            said = part.judge(observed, expected, request.inputs)
            assert said is not None and said != CHANGES_SOMETHING, place


def _another(value):
    return [_another(value[0]), *value[1:]] if type(value) is list and value else "another"


@pytest.mark.parametrize("check", CHECKS, ids=[check.item for check in CHECKS])
def test_what_a_probe_has_looked_at_is_named(check: Check):
    """Students see no question that a probe asks, so a yes in the place of a no tells nothing.

    Nor does the place of a value in what a probe returns: their own result is another.
    """
    for part, request, expected in smallest_cases(check.item):
        if part.keeps_process:
            expected = expected[0]
        for observed in _with_another_answer(expected):
            said = part.judge(observed, expected, request.inputs)
            is_named = said is None or not NO_ANSWER.search(said) or "the label of" in said
            assert is_named, (part.name, said)


def test_what_there_is_in_place_of_an_error_is_named():
    (check,) = (check for check in CHECKS if check.item == "ps7_hide_spans")
    (judge,) = (part.judge for part in check.parts if part.name == "too few sentinels")
    for observed, found in [("a result", "a result"), ("secret", "another error")]:
        said = judge(observed, "a ValueError", {})
        assert said == f"there is {found} where a ValueError is expected"
    assert judge("a result", "a result", {}) is None


NO_ANSWER = re.compile(r"values? (is|are) (wrong|True|False)")


def _with_another_answer(value):
    """Yield copies in which one answer, True or False, is the other one."""
    if type(value) is bool:
        yield not value
    elif type(value) in (list, tuple):
        for place, one in enumerate(value):
            for other in _with_another_answer(one):
                yield type(value)([*value[:place], other, *value[place + 1 :]])
    elif type(value) is dict:
        for key, one in value.items():
            yield from ({**value, key: other} for other in _with_another_answer(one))


def test_argument_whose_gradient_is_wrong_is_named():
    arguments = [torch.ones(2), torch.tensor([1]), (torch.ones(1), torch.ones(1))]
    judge, right = by_argument(near), [torch.ones(2), torch.ones(1), torch.ones(1)]
    for observed, said in [
        ([torch.zeros(2), *right[1:]], "the first argument gets no gradient"),
        ([*right[:2], torch.full((1,), 2.0)], "the third argument gets another gradient"),
        ("no gradient", "no gradient reaches the arguments"),
        (right, None),
    ]:
        assert judge(observed, right, {"arguments": arguments}) == said
