"""Let unmodified nbgrader ask the same checks: the hidden-test line of every test cell calls this.

nbgrader runs hidden tests in the student's own kernel. So there is no wall here: what a student
could do to nbgrader's own tests, they could do to these. `autograder grade` asks the same
checks across the wall, and never runs this file.

nbgrader takes an exception in a test cell for a wrong answer. So where the course cannot be found,
or a check is broken, the kernel ends: nbgrader then reports an error and records no points at all.
"""

import contextlib
import dataclasses
import io
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

from autograder.authoring.checks import Check
from autograder.authoring.course import Course, find_course_with_checks
from autograder.grading.judge import ItemJudge, submission_seed
from autograder.handed_out import FOLDER, Files, beside, read_files
from autograder.inside import wire
from autograder.inside.messages import Failure, ProbeRequest, WireError
from autograder.inside.probe import probe_or_failure
from autograder.records import CheckFault, GraderError, Observation


def score(problem_set: str, item: str, namespace: Mapping[str, Any]) -> float:
    """Judge what a running notebook has defined, and return the points for nbgrader to read.

    The course is found as `autograder.authoring.course.find_course` says, or else it is the one
    beside which the grader lies.

    Args:
        namespace: the notebook's `globals()`.

    Raises:
        AssertionError: if no point was earned. nbgrader takes an exception for no points, but has
            taken a result of 0 for full marks.
        GraderError: if there is no course, or the check itself is broken; ends a notebook's kernel.
        KeyError: if the set has no such item; ends a notebook's kernel.
    """
    seed, judge = submission_seed("plain nbgrader", "", problem_set), ItemJudge()
    try:
        check, files = _check(problem_set, item)
        with beside(files):
            requests = judge.requests(check, seed)
        observations = [_observe(request, namespace) for request in requests]
        with beside(files):
            verdict = judge.verdict(check, seed, observations)
        if verdict.fault:
            raise CheckFault(verdict.fault)
    except (GraderError, KeyError) as error:
        if _is_kernel():
            _end_kernel(f"{item} was not graded, and nobody gets points or loses any: {error}")
        raise
    unmet = [part.message for part in verdict.parts if not part.passed]
    unmet += [misconception.hint for misconception in verdict.misconceptions]
    if verdict.points <= 0:
        raise AssertionError("\n".join(unmet))
    for message in unmet:
        print(message)
    return verdict.points


def _check(problem_set: str, item: str) -> tuple[Check, Files]:
    """Return an item's check, and what lies beside the notebook while it asks and judges."""
    try:
        course = find_course_with_checks()
    except GraderError:
        course = Course(Path(__file__).resolve().parents[2] / "assignments")
        if problem_set not in course.sets():
            raise
    files = read_files(course.source(problem_set).with_name(FOLDER))
    return course.problem_set(problem_set).check(item), files


def _is_kernel() -> bool:
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return hasattr(shell, "kernel")


def _end_kernel(reason: str) -> NoReturn:
    """Say why on the terminal where nbgrader was started, and end this process."""
    # ipykernel puts a pipe in the place of stderr, which dies with it, and keeps the terminal's.
    terminal = getattr(sys.stderr, "_original_stdstream_copy", None) or 2
    with contextlib.suppress(OSError):
        os.write(terminal, f"\nERROR: {reason}\n".encode(errors="replace"))
    os._exit(1)


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
