"""Compare the time of a submission with its due date.

When a file came is believed as far as its source goes: a learning platform's record is its own, but
`timestamp.txt` and the folders' names in nbgrader's exchange are written by the student's account.
The source is shown wherever the time is. The exchange's file system knows better when a file came,
and a time that cannot be true (in the future, or before the set was released) counts as unknown.
Where a platform says of no file when it came, but marks those that are late, its mark counts.
Nothing is taken without a due date, nor where nobody knows when a file came.
"""

import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from autograder.authoring.late_policy import Policy
from autograder.intake.collection import Collected
from autograder.records import Timing

_CLAIMS = ("timestamp.txt", "nbgrader's exchange")
_CLOCKS_DIFFER = timedelta(minutes=5)


def timing_of(collected: Collected, policy: Policy, points: float, now: datetime) -> Timing:
    """Return when a submission came, and what that costs.

    Args:
        points: the highest points of the whole set.
        now: a submission cannot come from later; with a time zone.
    """
    due = policy.extensions.get(collected.student, policy.due)
    submitted, note = _believed(collected, policy, now)
    mark = ""
    if due is not None and submitted is None and not note and not collected.time_note:
        mark = _mark(collected, policy)
    if due is not None and submitted is None and collected.path is not None and not mark:
        note = note or "nobody knows when it was handed in"
        note += "; no points were taken off"
    timing = Timing(
        submitted=submitted.isoformat() if submitted is not None else "",
        source=_source(collected, submitted) or ("the platform's own mark" if mark else ""),
        note=note,
        mark=mark,
    )
    timing = against_due_date(timing, collected.student, policy, points)
    is_marked = collected.marked_late and not timing.seconds_late and not mark
    return replace(timing, marked_late=bool(is_marked))


def against_due_date(timing: Timing, student: str, policy: Policy, points: float) -> Timing:
    """Return how late a time that is known is, and what that costs, by the policy of today."""
    due, late = policy.extensions.get(student, policy.due), timedelta(0)
    if due is not None and timing.submitted:
        # In UTC: two times of one zone would be subtracted as clocks show them.
        submitted = datetime.fromisoformat(timing.submitted)
        late = submitted.astimezone(UTC) - due.astimezone(UTC)
        late = late if late > max(policy.grace, timedelta(0)) else timedelta(0)
    timing = replace(
        timing,
        due=due.isoformat() if due is not None else "",
        extended=student in policy.extensions,
        seconds_late=late.total_seconds(),
    )
    return replace(timing, penalty=penalty_for(lateness(timing, policy), policy, points))


def _mark(collected: Collected, policy: Policy) -> str:
    """Return what a platform's own mark says of this set's due date.

    The platform knows nothing of an extension that stands in `course.toml`.
    """
    if collected.marked_late is None or collected.student in policy.extensions:
        return ""
    return "late" if collected.marked_late else "on time"


def lateness(timing: Timing, policy: Policy) -> timedelta:
    """Return how late a submission counts: by a platform's mark, the least that is counted."""
    return policy.unit if timing.mark == "late" else timedelta(seconds=timing.seconds_late)


def penalty_for(late: timedelta, policy: Policy, points: float) -> float:
    """Return what lateness costs, without late days.

    Args:
        points: the highest points of the whole set.
    """
    started = max(0, math.ceil(late / policy.unit))
    return round(points * min(policy.cap_percent, started * policy.percent) / 100, 2)


def _believed(collected: Collected, policy: Policy, now: datetime) -> tuple[datetime | None, str]:
    """Return the time that counts, and a word on a claim that does not.

    A student's account writes the names in nbgrader's exchange. When the file arrived there is the
    file system's own record, and counts where the two are apart.
    """
    submitted, arrived, why = collected.submitted_at, collected.arrived_at, ""
    if submitted is None:
        return None, collected.time_note
    if submitted > now + _CLOCKS_DIFFER:
        why = "which is in the future"
    elif policy.released is not None and submitted < policy.released:
        why = "before the set was released"
    elif arrived is not None and abs(arrived - submitted) > _CLOCKS_DIFFER:
        why = f"but arrived at {arrived.isoformat(timespec='seconds')}, which counts"
    if not why:
        return submitted, ""
    return arrived, f"it claims to be from {submitted.isoformat()} ({_source(collected)}), {why}"


def _source(collected: Collected, believed: datetime | None = None) -> str:
    """Say where a time was read, and whether its student could have written it."""
    if believed is not None and believed == collected.arrived_at:
        return "the exchange's file system"
    if collected.time_source.startswith(_CLAIMS):
        return f"{collected.time_source}, which the student's account can write"
    return collected.time_source
