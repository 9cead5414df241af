"""What the sets say about an answer never repeats what the answer chose to say."""

from pathlib import Path

import pytest
import torch

from assignments.tensors import by_argument, near
from autograder.authoring.checks import Check
from autograder.authoring.course import find_course
from autograder.grading.judge import ItemJudge
from tests.assignments.notebooks import ask
from tests.autograder.attacks.echoes import CHOSEN, echoes, numbers_in

COURSE = find_course(Path(__file__).parents[2] / "assignments")
CHECKS = [check for name in COURSE.sets() for check in COURSE.problem_set(name).checks]


@pytest.mark.parametrize("check", CHECKS, ids=[check.item for check in CHECKS])
def test_no_message_holds_what_an_answer_chose(check: Check):
    requests = {}
    for request in ItemJudge().requests(check, seed=1):
        requests.setdefault(request.part, request)  # the smallest case of each part
    for part in check.parts:
        request = requests[part.name]
        expected, announced = ask(request, check.reference), numbers_in(part.requirement)
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
    parts = {part.name: part for part in check.parts if part.name == "nothing else changes"}
    for request in ItemJudge().requests(check, seed=1):
        if (part := parts.pop(request.part, None)) is None:
            continue
        expected, _ = ask(request, check.reference)
        for place in range(1, len(expected)):
            observed = (*expected[:place], _another(expected[place]), *expected[place + 1 :])
            said = part.judge(observed, expected, request.inputs)
            assert said is not None and said != CHANGES_SOMETHING, place


def _another(value):
    return [_another(value[0]), *value[1:]] if type(value) is list and value else "another"


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
