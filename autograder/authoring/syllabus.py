"""The course's syllabus, as `course.toml` states it: what is read, out and due in which week."""

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from autograder.authoring.course import Course
from autograder.authoring.late_policy import Policy, read_policy

TABLE = "syllabus"
_WORDS = ("title", "instructor", "contact", "place", "prerequisites")
_KNOWN = {*_WORDS, "first_day", "no_lecture", "weights", "chapters", "calendars"}
_STEPS = {"week": timedelta(days=7), "half-day": timedelta(days=1)}
_SET_EVENT = re.compile(r"([a-z][a-z0-9_]*) (out|due)")
_WEEK = timedelta(days=7)


@dataclass(frozen=True)
class Row:
    """One week, or half a day.

    Attributes:
        when: "Week 3" or "Day 2, morning".
        day: of the lecture; None if the course says no first day.
        chapters: number, name and title of each.
        events: all else, sets with their due dates where these are known.
    """

    when: str
    day: date | None
    chapters: tuple[tuple[int, str, str], ...]
    events: tuple[str, ...]


@dataclass(frozen=True)
class Syllabus:
    """All that the page says.

    Attributes:
        words: title, instructor and so on; those that are stated.
        weights: percent of the final grade, by what earns them.
        late: what happens to late work, in sentences.
        assistants: rule by set; "" is the rule of all that have none of their own.
        book: address of the book; empty if it has none.
        doubts: what does not fit together, to be looked at before the page is handed out.
    """

    words: Mapping[str, str]
    rows: tuple[Row, ...]
    weights: Mapping[str, float]
    late: tuple[str, ...]
    assistants: Mapping[str, str]
    book: str
    doubts: tuple[str, ...]


def calendars(course: Course) -> tuple[str, ...]:
    """Names of the calendars that `course.toml` has."""
    return tuple(_table(course, course.settings(TABLE), "calendars"))


def read_syllabus(course: Course, calendar: str) -> Syllabus:
    """Read the syllabus with one of the course's calendars.

    Raises:
        GraderError: if `course.toml` breaks a rule; names the key, its value and the rule.
    """
    table = course.settings(TABLE)
    for key in table.keys() - _KNOWN:
        course.refuse(f"{TABLE}.{key}", table[key], f"known are {', '.join(sorted(_KNOWN))}")
    chosen = _table(course, table, "calendars").get(calendar)
    where = f"{TABLE}.calendars.{calendar}"
    if not isinstance(chosen, dict):
        known = ", ".join(calendars(course)) or "none"
        course.refuse(where, chosen, f"the calendars of this course are: {known}")
    words = {key: _line(course, table, key) for key in _WORDS}
    weights = _weights(course, chosen.get("weights", _table(course, table, "weights")))
    policies = {name: read_policy(course, name) for name in course.sets()}
    rows, doubts = _rows(course, table, chosen, where, policies)
    for name in course.sets():
        is_due = policies[name].due is not None
        if is_due and not any(e.startswith(f"{name} due") for row in rows for e in row.events):
            doubts.append(f"{name} has a due date, and no row of calendar {calendar} has it")
    book = course.settings("book").get("address", "")
    return Syllabus(
        {key: word for key, word in words.items() if word},
        tuple(rows),
        weights,
        tuple(_late(policies)) if weights else (),
        _assistants(course),
        book.rstrip("/") + "/" if book else "",
        tuple(doubts),
    )


def _rows(
    course: Course,
    table: Mapping[str, Any],
    chosen: Mapping[str, Any],
    where: str,
    policies: Mapping[str, Policy],
) -> tuple[list[Row], list[str]]:
    unit, listed = chosen.get("unit", "week"), chosen.get("rows")
    if unit not in _STEPS:
        course.refuse(f"{where}.unit", unit, f"it must be one of {', '.join(_STEPS)}")
    if not isinstance(listed, list) or not all(
        isinstance(row, list) and all(isinstance(word, str) and word for word in row)
        for row in listed
    ):
        course.refuse(f"{where}.rows", listed, "it must be a list of lists of texts")
    chapters = _table(course, table, "chapters")
    days = _days(course, table, unit, len(listed))
    numbers = {name: number for number, name in enumerate(chapters, 1)}
    rows, doubts = [], []
    for place, (words, day) in enumerate(zip(listed, days, strict=True)):
        read = tuple((numbers[w], w, str(chapters[w])) for w in words if w in chapters)
        events = []
        for word in (w for w in words if w not in chapters):
            event, doubt = _event(word, day if unit == "week" else None, policies)
            if near := difflib.get_close_matches(word, chapters, n=1, cutoff=0.8):
                doubt = f"{word!r}: no chapter is called so; {near[0]!r} is one"
            events.append(event)
            doubts += [doubt] if doubt else []
        when = f"Week {place + 1}"
        if unit == "half-day":
            when = f"Day {place // 2 + 1}, {'afternoon' if place % 2 else 'morning'}"
        rows.append(Row(when, day, read, tuple(events)))
    return rows, doubts


def _days(course: Course, table: Mapping[str, Any], unit: str, n: int) -> list[date | None]:
    """Return the day of each row: week after week without those that have no lecture."""
    first, free = table.get("first_day"), table.get("no_lecture", [])
    if first is None:
        return [None] * n
    if not isinstance(first, date) or isinstance(first, datetime):
        course.refuse(f"{TABLE}.first_day", first, "it must be a date, such as 2027-10-04")
    if not isinstance(free, list) or not all(isinstance(day, date) for day in free):
        course.refuse(f"{TABLE}.no_lecture", free, "it must be a list of dates")
    if unit == "half-day":
        return [first + place // 2 * _STEPS[unit] for place in range(n)]
    free_weeks = {day.isocalendar()[:2] for day in free}
    days: list[date | None] = []
    day = first
    while len(days) < n:
        if day.isocalendar()[:2] not in free_weeks:
            days.append(day)
        day += _WEEK
    return days


def _event(word: str, day: date | None, policies: Mapping[str, Policy]) -> tuple[str, str]:
    """Return an event as the page names it, and what is doubtful about it."""
    match = _SET_EVENT.fullmatch(word)
    if match is None or match[1] not in policies:
        doubt = f"{word!r}: the course has no set {match[1]}" if match else ""
        return word, doubt
    policy = policies[match[1]]
    moment = policy.due if match[2] == "due" else policy.released
    if moment is None:
        return word, ""
    own = moment.date()
    apart = day is not None and own.isocalendar()[:2] != day.isocalendar()[:2]
    doubt = f"{word} is on {own}, and the calendar has it in the week of {day}" if apart else ""
    return f"{word} ({moment:%a %d %b %Y, %H:%M})", doubt


def _late(policies: Mapping[str, Policy]) -> list[str]:
    """Say what late work costs: what most sets have, then the sets that differ."""
    by_rule: dict[str, list[str]] = {}
    for name, policy in policies.items():
        by_rule.setdefault(late_rule(policy), []).append(name)
    usual = max(by_rule, key=lambda rule: len(by_rule[rule]), default="")
    said = [usual] if usual else []
    said += [f"{', '.join(sets)}: {rule}" for rule, sets in by_rule.items() if rule != usual]
    n = max((policy.late_days for policy in policies.values()), default=0)
    if n:
        said.append(
            f"You have {n} late day{'s' if n > 1 else ''} for the whole course, on which nothing "
            "is taken off. They are spent automatically, in the order of the due dates."
        )
    return said


def late_rule(policy: Policy) -> str:
    """Say in a sentence or two what late work costs."""
    if policy.percent == 0:
        return "Late work loses nothing."
    unit = "day" if policy.unit == timedelta(days=1) else "hour"
    grace = round(policy.grace.total_seconds() / 60)
    begins = f" Up to {grace} minutes are not late." if grace else ""
    return (
        f"Late work loses {policy.percent:g} % of the set's points for each {unit} that has begun, "
        f"at most {policy.cap_percent:g} %.{begins}"
    )


def _assistants(course: Course) -> dict[str, str]:
    rule = course.assistants("rule")
    own = {name: course.assistants(name) for name in course.sets()}
    return {"": rule} | {name: said for name, said in own.items() if said != rule}


def _weights(course: Course, given: object) -> dict[str, float]:
    where = f"{TABLE}.weights"
    if not isinstance(given, dict) or not all(
        isinstance(w, int | float) and w > 0 for w in given.values()
    ):
        course.refuse(where, given, "it must be a table of percents above 0")
    if given and sum(given.values()) != 100:
        course.refuse(where, sum(given.values()), "the weights must sum to 100")
    return {str(name): float(weight) for name, weight in given.items()}


def _table(course: Course, table: Mapping[str, Any], key: str) -> dict[str, Any]:
    inner = table.get(key, {})
    if not isinstance(inner, dict):
        course.refuse(f"{TABLE}.{key}", inner, "it must be a table")
    return inner


def _line(course: Course, table: Mapping[str, Any], key: str) -> str:
    word = table.get(key, "")
    if not isinstance(word, str) or not word.isprintable():
        course.refuse(f"{TABLE}.{key}", word, "it must be a line of text")
    return word.strip()
