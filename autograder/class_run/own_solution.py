"""See which tests of an nbgrader course work here, before a student could lose a point by them."""

from dataclasses import replace

from autograder.authoring.course import Course
from autograder.authoring.notebooks import as_text
from autograder.authoring.release import ReleasedSet
from autograder.grading.grader import Confinement, Grader, Task
from autograder.records import GraderError, State, Submission

_WHO = "the course's own solution"


def with_working_tests(course: Course, name: str, confinement: Confinement) -> ReleasedSet:
    """Grade the source notebook itself, and leave to people what it does not get full points for.

    A set with checks is returned as it is: they were tried before it was released.

    Raises:
        GraderError: if it cannot be graded at all; says why.
    """
    released = ReleasedSet(course, name)
    if course.has_checks:
        return released
    left = dict(released.locked_tests[1])
    notebook = as_text(released.notebooks.solution).encode()
    with Grader(released, confinement) as grader:
        grade = grader.grade(Task(Submission(_WHO, name, notebook, ""), "", 0)).grade
    if grade.state in (State.REFUSED, State.GRADER_FAULT):
        raise GraderError(f"{course.source(name)} cannot be graded: {grade.reasons[-1]}")
    errors = [cell.error for cell in grade.cells if cell.error]
    for verdict in grade.verdicts:
        if verdict.points < verdict.max_points:
            result = f"{_WHO} gets {verdict.points:g} of {verdict.max_points:g} points here"
            why = [result, *(part.staff_note for part in verdict.parts), *errors[:1]]
            left[verdict.item] = "; ".join(why)
    by_hand = tuple((name, cell, why) for cell, why in left.items())
    return replace(released, course=replace(course, by_hand=by_hand))
