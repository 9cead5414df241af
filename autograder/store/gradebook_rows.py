"""What is written into single rows of nbgrader's gradebook: scores, times, comments."""

from datetime import UTC, datetime
from typing import Any

from autograder.records import State, Timing, Verdict
from autograder.store.formgrader_notebook import describe_verdict
from autograder.untrusted import as_markdown


def write_score(
    row: Any, verdict: Verdict | None, state: State, blank: bool, has_comment: bool
) -> None:
    """Write what a machine gives, and whether a person has to look; what people gave stays.

    Args:
        blank: nothing was answered.
        has_comment: a person has commented on it.
    """
    is_given = row.manual_score is not None or row.extra_credit or has_comment
    if verdict is not None and verdict.fault:
        # The course's fault: an earlier score stays as it is, and a person looks at it.
        row.auto_score = verdict.points if row.auto_score is None else row.auto_score
        row.needs_manual_grade = True
        return
    if state is State.REFUSED:  # nothing was read, so nothing is worth 0: a person decides
        score = None
    elif verdict is not None:
        score = verdict.points
    else:
        score = 0.0 if blank else None
    changed = row.auto_score != score
    row.auto_score = score
    if is_given:
        # nbgrader's rule: a person looks again where the machine has changed its mind.
        look = (changed and verdict is not None) or (score is None and row.manual_score is None)
        row.needs_manual_grade = row.needs_manual_grade or look
    else:
        row.needs_manual_grade = score is None or state is State.GRADER_FAULT


def write_time(submission: Any, assignment: Any, timing: Timing, keeps_times: bool) -> None:
    """Write when a submission came, and by how much its own due date is later than the set's."""
    if timing.submitted:
        submission.timestamp = naive(datetime.fromisoformat(timing.submitted))
    elif not keeps_times:
        submission.timestamp = None
    due = assignment.duedate
    if timing.extended and due is not None:
        submission.extension = naive(datetime.fromisoformat(timing.due)) - due
    elif timing.due:
        submission.extension = None


def naive(time: datetime) -> datetime:
    """Return a time as nbgrader stores it: in UTC, without saying so."""
    return time.astimezone(UTC).replace(tzinfo=None)


def comment_on(verdict: Verdict | None, name: str, blank: frozenset[str]) -> str | None:
    """Return what is said of a cell beside its score; None where all is well."""
    if name in blank or (verdict is not None and verdict.item in blank):
        return "No response."
    if verdict is None or verdict.points == verdict.max_points:
        return None
    return as_markdown(describe_verdict(verdict))
