"""Due dates, late days, penalties, extensions, attempts and time, as `course.toml` states them.

A penalty is a share of the set's highest points for each started day or hour, so that it does not
depend on what has been graded by hand yet, and the gradebook, the exports and the pages agree at
all times. How late days are spent, set by set, is `class_run/late_days.py`.
"""

import math
import tomllib
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any, NoReturn
from zoneinfo import ZoneInfo

from autograder.authoring.course import SETTINGS, Course
from autograder.authoring.notebooks import NBGRADER_SETTINGS
from autograder.records import GraderError

_LEAST_SECONDS = 1
FEEDBACK = ("visible", "properties", "full")
_UNITS = {"day": timedelta(days=1), "hour": timedelta(hours=1)}


@dataclass(frozen=True)
class Policy:
    """What holds for one problem set.

    Attributes:
        released: no submission can be older; None if not said.
        grace: lateness up to this counts as none; beyond it, it counts from the due date.
        percent: of the set's points, taken for each started `unit`.
        cap_percent: the most that is ever taken.
        extensions: due dates of single students.
        seconds: of CPU time that a submission may take in all.
        late_days: of each student's, for the whole course, on which nothing is taken.
        attempts: how many different notebooks of each student are graded; 0: as many as come.
        feedback: what students read until the due date, one of `FEEDBACK`.
        feedback_delay: after the grader has first seen a notebook, until they read anything.
        full_feedback_delay: after due date and grace, until they read everything.
        zones: those in which times of submissions are read, the first of them where none is named:
            that of nbgrader's exchange, where its settings name one, and, last, the course's own.
    """

    due: datetime | None = None
    released: datetime | None = None
    grace: timedelta = timedelta(0)
    percent: float = 0.0
    unit: timedelta = _UNITS["day"]
    cap_percent: float = 100.0
    extensions: Mapping[str, datetime] = field(default_factory=dict)
    seconds: float = 60.0
    zones: tuple[tzinfo, ...] = (UTC,)
    late_days: int = 0
    attempts: int = 0
    feedback: str = FEEDBACK[-1]
    feedback_delay: timedelta = timedelta(0)
    full_feedback_delay: timedelta = timedelta(0)

    @property
    def counts_attempts(self) -> bool:
        """Whether it matters which notebook of a student is the first, and which is another."""
        return bool(self.attempts or self.feedback_delay)


def read_policy(course: Course, name: str) -> Policy:
    """Read what holds for a set; without a `course.toml`, or without an entry, nothing is due.

    Raises:
        GraderError: if the file breaks a rule; names the key, its value and the rule.
    """
    path = course.folder / SETTINGS
    try:
        loaded = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        loaded = {}
    except (OSError, ValueError) as error:
        raise GraderError(f"{path} cannot be read: {error}") from None
    policy = _Reader(path).read(loaded, course.sets(), name)
    if (course.folder / NBGRADER_SETTINGS).is_file():
        # nbgrader takes long to import, and only such a course needs it here.
        from autograder.authoring.nbgrader_settings import exchange_zone

        theirs = exchange_zone(course.folder)
        policy = replace(policy, zones=(*([theirs] if theirs else []), *policy.zones))
    return policy


class _Reader:
    """Turns the file's tables into a policy; every complaint names the file and the key."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._zone: tzinfo = UTC
        self._late_days = 0

    def read(self, loaded: dict[str, Any], known: tuple[str, ...], name: str) -> Policy:
        tables = {"assistants", "package", "book", "edition", "leaderboard", "defaults", "sets"}
        tables |= {"syllabus"}  # is checked where the syllabus is made
        self._only(loaded, {"time_zone", "late_days"} | tables, "")
        self._table(loaded, "book", "")  # is read, and its keys checked, where the book is built
        self._only(self._table(loaded, "package", ""), {"address"}, "package.")
        self._table(loaded, "edition", "")  # is checked where the edition is made
        self._only(self._table(loaded, "assistants", ""), {"rule", *known}, "assistants.")
        self._only(self._table(loaded, "leaderboard", ""), {"sets", "names"}, "leaderboard.")
        self._zone = self._time_zone(loaded.get("time_zone", "UTC"))
        self._late_days = self._whole(loaded, "late_days", "")
        defaults = self._table(loaded, "defaults", "")
        sets = self._table(loaded, "sets", "")
        self._only(sets, set(known), "sets.")
        policies = {}
        default = self._policy(defaults, "defaults.", _RULES)
        for other in sets:  # all of them, so that a slip is found before its set is due
            own = self._table(sets, other, "sets.")
            where = f"sets.{other}."
            self._policy(own, where, _RULES | _DATES)
            policies[other] = self._policy({**defaults, **own}, where, _RULES | _DATES)
        return policies.get(name, default)

    def _policy(self, table: dict[str, Any], where: str, known: set[str]) -> Policy:
        self._only(table, known, where)
        given = self._table(table, "extensions", where)
        unit = table.get("penalty_per", "day")
        if unit not in _UNITS:
            self._refuse(f"{where}penalty_per", unit, 'it must be "day" or "hour"')
        if given and "due" not in table:
            self._refuse(f"{where}extensions", sorted(given), "there must be a due date to extend")
        extensions = {
            unicodedata.normalize("NFC", student): self._date(given, student, f"{where}extensions.")
            for student in given
        }
        due = self._date(table, "due", where) if "due" in table else None
        released = self._date(table, "released", where) if "released" in table else None
        for key, date in (("due", due), *((f"extensions.{s}", d) for s, d in extensions.items())):
            if released is not None and date is not None and date <= released:
                self._refuse(f"{where}{key}", date.isoformat(), "it must be after the release")
        feedback = table.get("feedback", Policy.feedback)
        if feedback not in FEEDBACK:
            known_words = ", ".join(map(repr, FEEDBACK))
            self._refuse(f"{where}feedback", feedback, f"it must be one of {known_words}")
        seconds = self._number(table, "seconds", Policy.seconds, 3600.0, where)
        if seconds < _LEAST_SECONDS:
            self._refuse(f"{where}seconds", seconds, f"it must be at least {_LEAST_SECONDS}")
        return Policy(
            due=due,
            released=released,
            grace=timedelta(minutes=self._number(table, "grace_minutes", 0.0, math.inf, where)),
            percent=self._number(table, "penalty_percent", 0.0, 100.0, where),
            unit=_UNITS[unit],
            cap_percent=self._number(table, "cap_percent", 100.0, 100.0, where),
            extensions=extensions,
            seconds=seconds,
            zones=(self._zone,),
            late_days=self._late_days,
            attempts=self._whole(table, "attempts", where),
            feedback=feedback,
            feedback_delay=self._hours(table, "feedback_delay_hours", where),
            full_feedback_delay=self._hours(table, "full_feedback_delay_hours", where),
        )

    def _refuse(self, key: str, value: object, rule: str) -> NoReturn:
        raise GraderError(f"{self._path}: {key} is {value!r}; {rule}")

    def _only(self, table: dict[str, Any], known: set[str], where: str) -> None:
        for key in table:
            if key not in known:
                self._refuse(where + key, table[key], f"known here: {', '.join(sorted(known))}")

    def _table(self, table: dict[str, Any], key: str, where: str) -> dict[str, Any]:
        inner = table.get(key, {})
        if not isinstance(inner, dict):
            self._refuse(where + key, inner, "it must be a table")
        return dict(inner)

    def _time_zone(self, name: object) -> tzinfo:
        if name == "UTC":
            return UTC
        try:
            return ZoneInfo(str(name))
        except (KeyError, OSError, ValueError):
            self._refuse("time_zone", name, 'it must be a place like "Europe/Rome", or "UTC"')

    def _date(self, table: dict[str, Any], key: str, where: str) -> datetime:
        date = table[key]
        if not isinstance(date, datetime):
            self._refuse(where + key, date, "it must be a day and a time: 2027-10-12 23:59:00")
        moment: datetime = date
        moment = moment if moment.tzinfo is not None else moment.replace(tzinfo=self._zone)
        try:
            moment.astimezone(UTC)
        except OverflowError:
            self._refuse(where + key, date, "it must be a year that UTC has, from 1 to 9999, too")
        return moment

    def _whole(self, table: dict[str, Any], key: str, where: str) -> int:
        value = table.get(key, 0)
        if type(value) is not int or value < 0:
            self._refuse(where + key, value, "it must be a whole number of at least 0")
        return int(value)

    def _hours(self, table: dict[str, Any], key: str, where: str) -> timedelta:
        return timedelta(hours=self._number(table, key, 0.0, _YEAR, where))

    def _number(
        self, table: dict[str, Any], key: str, default: float, most: float, where: str
    ) -> float:
        value = table.get(key, default)
        is_number = type(value) in (int, float) and math.isfinite(value)
        if not is_number or not 0 <= value <= most:
            upper = f" and at most {most:g}" if most < math.inf else ""
            self._refuse(where + key, value, f"it must be a number of at least 0{upper}")
        return float(value)


_YEAR = 366 * 24.0
_RULES = {"grace_minutes", "penalty_percent", "penalty_per", "cap_percent", "seconds"}
_RULES |= {"attempts", "feedback", "feedback_delay_hours", "full_feedback_delay_hours"}
_DATES = {"due", "released", "extensions"}
