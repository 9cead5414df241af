"""Let unmodified nbgrader ask the same checks: the hidden-test line of every test cell calls this.

nbgrader runs hidden tests in the student's own kernel. So there is no wall here: what a student
could do to nbgrader's own tests, they could do to these. `autograder grade` asks the same
checks across the wall, and never runs this file.
"""

import contextlib
import dataclasses
import io
from collections.abc import Mapping
from typing import Any

from autograder.authoring.course import find_course
from autograder.grading.judge import ItemJudge, submission_seed
from autograder.inside import wire
from autograder.inside.messages import Failure, ProbeRequest, WireError
from autograder.inside.probe import probe_or_failure
from autograder.records import CheckFault, Observation


def score(problem_set: str, item: str, namespace: Mapping[str, Any]) -> float:
    """Judge what a running notebook has defined, and return the points for nbgrader to read.

    The course is found as `autograder.authoring.course.find_course` says.

    Args:
        namespace: the notebook's `globals()`.

    Raises:
        AssertionError: if no point was earned. nbgrader takes an exception for no points, but has
            taken a result of 0 for full marks.
        CheckFault: if the check itself is broken.
    """
    check = find_course().problem_set(problem_set).check(item)
    seed = submission_seed("plain nbgrader", "", problem_set)
    judge = ItemJudge()
    observations = [_observe(request, namespace) for request in judge.requests(check, seed)]
    verdict = judge.verdict(check, seed, observations)
    if verdict.fault:
        raise CheckFault(verdict.fault)
    unmet = [part.message for part in verdict.parts if not part.passed]
    if verdict.misconception is not None:
        unmet.append(verdict.misconception.hint)
    if verdict.points <= 0:
        raise AssertionError("\n".join(unmet))
    for message in unmet:
        print(message)
    return verdict.points


def _observe(request: ProbeRequest, namespace: Mapping[str, Any]) -> Observation:
    # As in the sandbox, every request brings inputs of its own: some tasks change their arguments.
    request = dataclasses.replace(request, inputs=wire.normal_form(request.inputs))
    # nbgrader gives no points to a cell that has written one line to stderr.
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        value = probe_or_failure(request, namespace)
    if not isinstance(value, Failure):
        try:
            value = wire.normal_form(value)
        except WireError as error:
            value = Failure("refused", str(error))
    return Observation(request.item, request.part, request.case, value)
