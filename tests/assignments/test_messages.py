"""What the sets say about an answer never repeats what the answer chose to say."""

from pathlib import Path

import pytest

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
