"""The instructor's pages: how a class did, where it struggled, who needs a look, what changed.

Each is one file that works without a network. Names, notes and reasons are escaped like everything
else; the pages' only script sorts and filters rows that are there without it.
"""

import math
import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from autograder.authoring.checks import ProblemSet
from autograder.authoring.outline import Item, Outline
from autograder.records import Attempts, Grade, HandGrade, State, Timing
from autograder.reports.html import render, still_open
from autograder.store.grade_changes import Change, ItemChange, describe_item_change

_BINS = 10
HandGrades = Mapping[str, Mapping[str, HandGrade]]


def class_page(
    outline: Outline,
    grades: Sequence[Grade],
    by_hand: HandGrades,
    n_changes: int = 0,
    sections: Mapping[str, str] = MappingProxyType({}),
    notes: Sequence[str] = (),
) -> str:
    """Return a set's dashboard.

    Args:
        by_hand: for each student, what people gave for each cell.
        n_changes: how many changed grades the page of changes lists; without any it is not linked.
        sections: by student, where the class has any.
        notes: what is to be said of the class as a whole.
    """
    graded = [grade for grade in grades if grade.verdicts and grade.state is not State.REFUSED]
    totals = {grade.student: total(grade, by_hand) for grade in grades}
    values = [totals[grade.student] for grade in graded]
    most = {grade.student: judged(grade, outline, by_hand) for grade in grades}
    # Whoever left a written answer blank has it judged already, which says nothing of the class.
    wrote = [grade for grade in graded if not _left_blank(grade, outline, by_hand)]
    known = max((most[grade.student] for grade in wrote), default=outline.points)
    return render(
        "class.html",
        script="dashboard.js",
        outline=outline,
        rows=[
            _student_row(
                grade,
                totals[grade.student],
                most[grade.student],
                of_earlier(outline, by_hand.get(grade.student, {})),
            )
            | {"section": sections.get(grade.student, "")}
            for grade in grades
        ],
        sections=list(_by_section(graded, totals, sections)),
        notes=notes,
        states=[(state, sum(grade.state is state for grade in grades)) for state in State],
        n_late=sum(grade.timing.is_late for grade in grades),
        n_changes=n_changes,
        known=known,
        still=still_open(outline.points - known),
        mean=statistics.mean(values) if values else None,
        median=statistics.median(values) if values else None,
        bins=_histogram(values, outline.points),
        items=[_item_row(item, graded, by_hand) for item in outline.items],
        misconceptions=_misconceptions(outline, graded),
        faults=[fault for grade in grades for fault in _faults(grade)],
        isolations=sorted({grade.isolation for grade in grades if grade.isolation}),
        waiting=_n_waiting(outline, graded, by_hand),
    )


def mistakes_page(problem_set: ProblemSet) -> str:
    """Return every mistake that the checks of a set know, with the hint that a student reads."""
    return render("mistakes.html", problem_set=problem_set)


def changes_page(outline: Outline, changes: Sequence[Mapping[str, Any]]) -> str:
    """Return the history of changed grades, newest first.

    Args:
        changes: as the journal keeps them.
    """
    read = [(change["at"], _change(change)) for change in reversed(changes)]
    return render("changes.html", outline=outline, changes=read, describe=describe_item_change)


def overview_page(
    classes: Sequence[tuple[Outline, Sequence[Grade], HandGrades]], title: str = "The course"
) -> str:
    """Return the table of all students and all sets, which leads to each set's dashboard."""
    points = {
        outline.name: {
            grade.student: total(grade, by_hand) if judged(grade, outline, by_hand) else None
            for grade in grades
        }
        for outline, grades, by_hand in classes
    }
    left: dict[str, int] = {}  # after the set that is due last
    for _, grades, _ in classes:
        for grade in grades:
            n = grade.timing.late_days_left
            if n is not None:
                left[grade.student] = min(n, left.get(grade.student, n))
    students = sorted({student for by_student in points.values() for student in by_student})
    rows = [(name, [by_student.get(name) for by_student in points.values()]) for name in students]
    return render(
        "overview.html",
        script="dashboard.js",
        title=title,
        outlines=[outline for outline, _, _ in classes],
        rows=[
            (name, by_student, sum(p for p in by_student if p is not None), left.get(name))
            for name, by_student in rows
        ],
        has_late_days=bool(left),
    )


def total(grade: Grade, by_hand: HandGrades) -> float:
    """Points of checks and people together, less the penalty; a person's word counts first."""
    points = {verdict.item: verdict.points for verdict in grade.verdicts}
    for name, given in by_hand.get(grade.student, {}).items():
        counts = given.counts(points.get(name))
        if counts is not None:
            points[name] = counts
    return max(0.0, sum(points.values()) - grade.timing.penalty)


def of_earlier(outline: Outline, given: Mapping[str, HandGrade]) -> Iterator[str]:
    """Say what of a student's grade people gave for an answer that has changed since."""
    for item in outline.items:
        one = given.get(item.name, HandGrade(None))
        if one.is_of_earlier:
            pair = (("points", one.earlier_points), ("comment", one.earlier_comment))
            what = " and ".join(word for word, is_earlier in pair if is_earlier)
            yield f"{item.title}: {what} given by hand for an earlier answer; look again"


def judged(grade: Grade, outline: Outline, by_hand: HandGrades) -> float:
    """The most points that are possible in what has been judged so far, by checks and people.

    0 where nothing could be read: that is no grade of 0 points.
    """
    verdicts = grade.verdicts if grade.state is not State.REFUSED else ()
    most = {verdict.item: verdict.max_points for verdict in verdicts}
    given = by_hand.get(grade.student, {})
    for item in outline.items:
        one = given.get(item.name, HandGrade(None))
        if one.counts(None) is not None or (one.blank and item.by_hand):
            most[item.name] = item.points
    return sum(most.values())


def _left_blank(grade: Grade, outline: Outline, by_hand: HandGrades) -> bool:
    given = by_hand.get(grade.student, {})
    return any(
        given.get(item.name, HandGrade(None)).blank for item in outline.items if item.by_hand
    )


def _change(plain: Mapping[str, Any]) -> Change:
    fields = {key: value for key, value in plain.items() if key != "at"}
    items = tuple(ItemChange(**item) for item in plain["items"])
    return Change(**fields | {"items": items, "causes": tuple(plain["causes"])})


def _student_row(
    grade: Grade, points: float, known: float, earlier: Iterable[str]
) -> dict[str, Any]:
    timing, noticed = grade.timing, list(earlier)
    return {
        "grade": grade,
        "points": points,
        "known": known,
        "is_late": timing.is_late,
        "problems": bool(
            noticed
            or grade.attempts.noticed
            or timing.note
            or timing.marked_late
            or grade.state is not State.GRADED
        ),
        "noticed": [
            *noticed,
            *grade.reasons,
            *_said_of_time(timing),
            *_said_of_attempts(grade.attempts),
        ],
    }


def _faults(grade: Grade) -> Iterator[tuple[Grade, str, str]]:
    """Yield the items that a check could not judge, and why."""
    for verdict in grade.verdicts:
        if verdict.fault:
            yield grade, verdict.item, verdict.fault
    for item, why in grade.unjudged.items():
        yield grade, item, why


def _said_of_time(timing: Timing) -> Iterator[str]:
    if timing.extended:
        yield "has an extension"
    if timing.submitted and timing.due:
        yield f"time from {timing.source or 'an unnamed source'}"
    if timing.note:
        yield timing.note
    if timing.marked_late or timing.mark == "late":
        yield "the learning platform marks it as late"


def _by_section(
    graded: Sequence[Grade], totals: Mapping[str, float], sections: Mapping[str, str]
) -> Iterator[dict[str, Any]]:
    totals_of: dict[str, list[float]] = {name: [] for name in sorted(set(sections.values()))}
    for grade in graded:
        if grade.student in sections:
            totals_of[sections[grade.student]].append(totals[grade.student])
    for name, values in totals_of.items():
        pair = (statistics.mean(values), statistics.median(values)) if values else (None, None)
        yield {"name": name, "n": len(values), "mean": pair[0], "median": pair[1]}


def _said_of_attempts(attempts: Attempts) -> Iterator[str]:
    yield from attempts.noticed
    if attempts.n > 1:
        yield f"attempt {attempts.n}"
    if attempts.n_later:
        n = attempts.n_later
        files = "1 later file is" if n == 1 else f"{n} later files are"
        yield f"{files} kept and not graded: {attempts.later_why}"


def _n_waiting(outline: Outline, graded: Sequence[Grade], by_hand: HandGrades) -> int:
    names = {item.name for item in outline.items if item.by_hand}
    cells = [pair for grade in graded for pair in by_hand.get(grade.student, {}).items()]
    return sum(given.waiting and (name in names or given.is_of_person) for name, given in cells)


def _histogram(values: Sequence[float], highest: float) -> list[dict[str, Any]]:
    width = (highest or 1.0) / _BINS
    counts = Counter(min(int(value / width), _BINS - 1) for value in values)
    most = max(counts.values(), default=1)
    return [
        {
            "from": index * width,
            "to": (index + 1) * width,
            "n": counts[index],
            "share": counts[index] / most,
        }
        for index in range(_BINS)
    ]


def _item_row(item: Item, grades: Sequence[Grade], by_hand: HandGrades) -> dict[str, Any]:
    earned = []
    asked: Counter[str] = Counter()
    held: Counter[str] = Counter()
    for grade in grades:
        verdict = next((v for v in grade.verdicts if v.item == item.name and not v.fault), None)
        given = by_hand.get(grade.student, {}).get(item.name, HandGrade(None))
        counts = given.counts(None if verdict is None else verdict.points)
        if counts is not None:
            earned.append(counts)
        parts = verdict.parts if verdict is not None else ()
        asked.update(part.part for part in parts)
        held.update(part.part for part in parts if part.passed)
    return {
        "item": item,
        "n": len(earned),
        "mean": statistics.mean(earned) if earned else None,
        "full": sum(value > item.points or math.isclose(value, item.points) for value in earned),
        "none": sum(value == 0 for value in earned),
        "parts": [(says, held[name], asked[name]) for name, says in item.requirements.items()],
    }


def _misconceptions(outline: Outline, grades: Sequence[Grade]) -> list[dict[str, Any]]:
    students: dict[tuple[str, str, str], list[str]] = {}
    for grade in grades:
        for verdict in grade.verdicts:
            for misconception in verdict.misconceptions:
                key = (verdict.item, misconception.name, misconception.hint)
                students.setdefault(key, []).append(grade.student)
    ranked = sorted(students.items(), key=lambda entry: (-len(entry[1]), entry[0]))
    return [
        {"title": outline.titles.get(item, item), "name": name, "hint": hint, "students": who}
        for (item, name, hint), who in ranked
    ]
