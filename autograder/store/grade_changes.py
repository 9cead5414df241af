"""Say whose grade changed between two records, and why.

The reasons are read off what the two records were made from: another notebook, a changed part of a
check, another due date. Coarse things (a file of the package, the grader) are named only where no
finer one explains the change, since one commit touches many files that decide nothing.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from autograder.records import Grade, State, Verdict
from autograder.store.journal import Record

PART = "part "
"""How the names of parts begin in `Record.made_from`: "part <item>: <part>"."""

_COARSE = {
    "checks": "a file of the checks or answers changed",
    "reference package": "the package with the reference versions changed",
    "notebook source": "the released notebook changed",
    "grader": "the grader changed",
    "limits": "the limits of the sandbox changed",
}


@dataclass(frozen=True)
class ItemChange:
    """What happened to one item.

    Attributes:
        before: its points; None where it was not graded.
        now_pass: parts that failed, or were not asked, and pass now.
        now_fail: parts that passed, or were not asked, and fail now.
        check_changed: parts whose questions or demands have changed.
    """

    item: str
    before: float | None
    after: float | None
    now_pass: tuple[str, ...] = ()
    now_fail: tuple[str, ...] = ()
    check_changed: tuple[str, ...] = ()


@dataclass(frozen=True)
class Change:
    """A grade that differs from the one recorded earlier; points are those after any penalty."""

    student: str
    before: float
    after: float
    causes: tuple[str, ...]
    items: tuple[ItemChange, ...]
    state_before: str
    state_after: str


def change_between(before: Record, after: Record) -> Change | None:
    """Compare two records of one student; None if points and state are the same everywhere."""
    old, new = before.grade, after.grade
    items = tuple(_item_changes(before, after))
    if old.final_points == new.final_points and old.state is new.state and not items:
        return None
    return Change(
        new.student,
        old.final_points,
        new.final_points,
        tuple(_causes(before, after, items)),
        items,
        old.state.value,
        new.state.value,
    )


def describe_item_change(change: ItemChange) -> str:
    """Return what happened to an item as one line."""
    points = " -> ".join("-" if p is None else f"{p:g}" for p in (change.before, change.after))
    words = [f"{change.item} {points}"]
    for label, parts in (("now passed", change.now_pass), ("now failed", change.now_fail)):
        if parts:
            words.append(f"{label}: {', '.join(parts)}")
    return "; ".join(words)


def _item_changes(before: Record, after: Record) -> Iterator[ItemChange]:
    old, new = _verdicts(before.grade), _verdicts(after.grade)
    for item in dict.fromkeys((*new, *old)):
        parts_before, parts_after = _parts(old.get(item)), _parts(new.get(item))
        turned = [part for part in parts_after if parts_before.get(part) != parts_after[part]]
        points_before, points_after = (
            verdicts[item].points if item in verdicts else None for verdicts in (old, new)
        )
        if points_before == points_after and not (turned and parts_before):
            continue
        yield ItemChange(
            item,
            points_before,
            points_after,
            now_pass=tuple(part for part in turned if parts_after[part]),
            now_fail=tuple(part for part in turned if not parts_after[part]),
            check_changed=tuple(_changed_parts(before, after, item)),
        )


def _verdicts(grade: Grade) -> dict[str, Verdict]:
    return {verdict.item: verdict for verdict in grade.verdicts}


def _parts(verdict: Verdict | None) -> dict[str, bool]:
    return {part.part: part.passed for part in verdict.parts} if verdict is not None else {}


def _changed_parts(before: Record, after: Record, item: str) -> Iterator[str]:
    start = f"{PART}{item}: "
    for name in dict.fromkeys((*after.made_from, *before.made_from)):
        if name.startswith(start) and _differs(before, after, name):
            yield name.removeprefix(start)


def _differs(before: Record, after: Record, name: str) -> bool:
    return before.made_from.get(name) != after.made_from.get(name)


def _causes(before: Record, after: Record, items: tuple[ItemChange, ...]) -> Iterator[str]:
    explained = False
    if _differs(before, after, "submission"):
        yield "another file was handed in"
        explained = True
    if _differs(before, after, "questions"):
        yield "the questions were drawn anew"
        explained = True
    if before.grade.state is State.GRADER_FAULT:
        yield "the grader had failed before"
        explained = True
    elif after.grade.state is State.GRADER_FAULT:
        yield "the grader failed"
        explained = True
    for change in items:
        if change.check_changed:
            yield f"the check of {change.item} changed: {', '.join(change.check_changed)}"
    if items and not explained and not all(change.check_changed for change in items):
        yield from _coarse_causes(before, after)
    if before.grade.timing.penalty != after.grade.timing.penalty:
        yield from _causes_of_penalty(before, after)


def _coarse_causes(before: Record, after: Record) -> Iterator[str]:
    causes = [words for name, words in _COARSE.items() if _differs(before, after, name)]
    if _differs(before, after, "libraries"):
        old, new = (record.made_from.get("libraries", "unknown") for record in (before, after))
        causes.append(f"libraries changed: {old} -> {new}")
    yield from causes or ["nothing was changed: the student's code answers differently each time"]


def _causes_of_penalty(before: Record, after: Record) -> Iterator[str]:
    old, new = before.grade.timing, after.grade.timing
    yield f"the late penalty is {new.penalty:g} instead of {old.penalty:g} points"
    if old.due != new.due:
        yield f"the due date is {new.due or 'none'} instead of {old.due or 'none'}"
    if old.submitted != new.submitted:
        yield f"it came at {new.submitted or 'an unknown time'}, not {old.submitted or 'unknown'}"
    if old.late_days != new.late_days:
        yield f"late days spent on it: {new.late_days} instead of {old.late_days}"
    elif (old.due, old.submitted) == (new.due, new.submitted):
        yield "the rule for late submissions changed"
