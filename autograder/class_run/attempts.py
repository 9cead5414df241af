"""Which of a student's notebooks counts, where a course limits how many are graded.

The last of them within the number counts. Another attempt is a notebook in which something that is
graded differs: neither its name nor its outputs make one. A file that cannot be read uses no
attempt. What comes after the last attempt, or cannot be read after one, is kept and not graded; the
earlier notebook stands. No time that a student's account could have written is asked for any of
this, and what was graded once is not graded again for being handed in anew: code that answers by
chance would say more each time.
"""

import hashlib
from dataclasses import replace
from datetime import datetime

from autograder.authoring.release import ReleasedSet
from autograder.intake.repair import repair
from autograder.records import Attempts, State, SubmissionRefused
from autograder.store.journal import Record


def attempt(
    data: bytes, refusal: str, earlier: Record | None, released: ReleasedSet, now: datetime
) -> tuple[Attempts, str]:
    """Return what a student's attempts are with this file, and why the earlier one stands.

    Args:
        refusal: why it could not be read; empty if it could.
        earlier: what is recorded of the student.

    Returns:
        The attempts, and an empty text if this file counts.
    """
    before, digest = _before(earlier), hashlib.sha256(data).hexdigest() if not refusal else ""
    is_same = bool(before.n and earlier is not None and digest == earlier.grade.sha256)
    content, why = before.content if is_same else "", refusal
    if not why and not content:
        try:
            content = repair(data, released).content
        except SubmissionRefused as error:
            why = str(error)
        except Exception:
            content = digest  # whatever is wrong with it, the grader says
    if not why and (is_same or (before.n and content == before.content)):
        return Attempts(before.n, content, before.seen or now.isoformat(timespec="seconds")), ""
    most = released.policy.attempts
    if not why and most and before.n >= most:
        why = f"all {most} attempts were used" if most > 1 else "the one attempt was used"
    if why and before.n:
        is_new = not before.n_later or before.later_sha256 != digest
        n_later = before.n_later + is_new
        return replace(before, n_later=n_later, later_sha256=digest, later_why=why), why
    if why:
        return Attempts(), ""
    return Attempts(before.n + 1, content, now.isoformat(timespec="seconds")), ""


def _before(earlier: Record | None) -> Attempts:
    """Return the attempts so far; what was graded before attempts were counted was the first."""
    if earlier is None or earlier.grade.attempts.n:
        return earlier.grade.attempts if earlier is not None else Attempts()
    is_graded = earlier.grade.sha256 and earlier.grade.state is not State.REFUSED
    return Attempts(1) if is_graded else Attempts()
