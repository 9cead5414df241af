"""Times that a delivery does not give, from a file: a small CSV, or Moodle's grading worksheet.

    student,submitted                  as `grade` calls them; ISO 8601, in the course's zone
    lovelaceada_12345,2026-10-12T23:58

    Identifier,Full name,...,Last modified (submission),...
    Participant 12345,Ada Lovelace,...,"Monday, 12 October 2026, 11:58 PM",...

A time from such a file is an instructor's word: it counts before what stands in the delivery.
"""

import re
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo
from pathlib import Path

from autograder.files import Table, read_table
from autograder.intake.collection import Collected, Delivery
from autograder.intake.identity import is_same_name, name_and_number, same_id
from autograder.intake.layouts import student_name
from autograder.intake.times import read_clock, read_time
from autograder.records import GraderError

_WORKSHEET = ("Identifier", "Last modified (submission)")
_SMALL = ("student", "submitted")
_NOTHING = ("", "-")  # Moodle's for "never"
_MOST_NAMES = 20
_MONTHS = (
    *("january", "february", "march", "april", "may", "june", "july"),
    *("august", "september", "october", "november", "december"),
)
# "Monday, 12 October 2026, 11:58 PM", and as Americans have it, "Monday, October 12, 2026, ...".
_IN_WORDS = re.compile(
    r"(?:[^\W\d_]+\.?,? )?"
    r"(?:(?P<day>\d\d?)\.? (?P<month>[a-z]+)|(?P<us_month>[a-z]+) (?P<us_day>\d\d?))"
    r",? (?P<year>\d{4}),? (?P<hour>\d\d?):(?P<minute>\d\d)(?::(?P<second>\d\d))?"
    r" ?(?:(?P<half>[ap])\.?m\.?)?",
    re.IGNORECASE | re.ASCII,
)


@dataclass(frozen=True)
class GivenTimes:
    """When students handed in, as a file says it.

    Attributes:
        name: the file's.
        rows: for each student named there, how they are called (a name, "" in a worksheet of
            blind marking), the number in Moodle's names, and the time.
    """

    name: str
    rows: tuple[tuple[str, str, datetime], ...]

    def put_into(self, delivery: Delivery) -> Delivery:
        """Return the delivery with these times; a remark says which rows name nobody in it."""
        used: set[int] = set()
        submissions = []
        for collected in delivery.submissions:
            mine = [index for index, row in enumerate(self.rows) if _names(row, collected.student)]
            used.update(mine)
            if len(mine) == 1:
                collected = with_time(collected, self.rows[mine[0]][2], self.name)
            submissions.append(collected)
        strangers = [
            name or f"participant {number}"
            for index, (name, number, _) in enumerate(self.rows)
            if index not in used
        ]
        remarks = delivery.remarks
        if strangers:
            shown = ", ".join(strangers[:_MOST_NAMES]) + " ..." * (len(strangers) > _MOST_NAMES)
            remarks += (f"{self.name} gives times of {len(strangers)} who are not here: {shown}",)
        return replace(delivery, submissions=tuple(submissions), remarks=remarks)


def with_time(collected: Collected, time: datetime, source: str) -> Collected:
    """Return a submission with the time that a file of times gives."""
    return replace(
        collected,
        submitted_at=time,
        time_source=source,
        time_note="",
        is_time_given=True,
        arrived_at=None,
    )


def read_given_times(path: Path, zone: tzinfo) -> GivenTimes:
    """Read a file of times.

    Args:
        zone: that of times which do not name their own.

    Raises:
        GraderError: if it has not the columns of either kind, names somebody twice, or a time
            cannot be read; says where and what to do.
    """
    table = read_table(path)
    is_worksheet = all(table.find(column) is not None for column in _WORKSHEET)
    if not is_worksheet and any(table.find(column) is None for column in _SMALL):
        raise GraderError(
            f"{table.name} has the columns {', '.join(table.header)}; it must have "
            f"{' and '.join(_SMALL)}, or Moodle's {' and '.join(_WORKSHEET)} (set Moodle to "
            "English before you download a worksheet)"
        )
    who, when = map(table.index, _WORKSHEET if is_worksheet else _SMALL)
    rows: dict[str, tuple[str, str, datetime]] = {}
    for index, cells in enumerate(table.rows, 2):
        text, identifier = cells[when].strip(), cells[who].strip()
        if text in _NOTHING or not identifier:
            continue
        if same_id(identifier) in rows:
            raise GraderError(f"{table.name}, row {index}: {identifier} stands there twice")
        time = _read(text, zone)
        if time is None:
            raise GraderError(
                f"{table.name}, row {index}: {_why_not(text, zone)} "
                "(or, before you download a worksheet, set Moodle to English)"
            )
        number = re.search(r"\d+$", identifier) if is_worksheet else None
        name = _full_name(table, cells) if is_worksheet else identifier
        rows[same_id(identifier)] = (name, number[0] if number else "", time)
    return GivenTimes(table.name, tuple(rows.values()))


def _why_not(text: str, zone: tzinfo) -> str:
    """Say what is wrong with a time that cannot be read, and how to write it."""
    shown = repr(text[:60])
    if read_clock(text) is not None:
        return (
            f"{shown} is of a zone that is not the course's, time_zone = {str(zone)!r} in "
            "course.toml; write an offset, as 2026-10-12T23:58+02:00"
        )
    return f"{shown} is no time that can be told; write it as 2026-10-12T23:58"


def _full_name(table: Table, cells: tuple[str, ...]) -> str:
    parts = [table.find(name) for name in ("Full name", "First name", "Last name", "Surname")]
    return " ".join(cells[part].strip() for part in parts if part is not None)


def _names(row: tuple[str, str, datetime], student: str) -> bool:
    """Whether a row is this student's: by the whole name, or by Moodle's number and the name."""
    name, number, _ = row
    if not number:
        return same_id(student) in (same_id(name), same_id(student_name(name)))
    archived, own = name_and_number(student)
    return own == number and (is_same_name(archived, name) or not name)


def _read(text: str, zone: tzinfo) -> datetime | None:
    match = _IN_WORDS.fullmatch(" ".join(text.split()))  # newer systems put narrow spaces
    if match is None:
        return read_time(text, (zone,))
    month = (match["month"] or match["us_month"]).lower()
    known = [name for name in _MONTHS if month in (name, name[:3])]
    known += ["september"] * (month == "sept")
    if not known:
        return None
    hour, half = int(match["hour"]), (match["half"] or "").lower()
    if half:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + 12 * (half == "p")
    day = int(match["day"] or match["us_day"])
    number = _MONTHS.index(known[0]) + 1
    clock = f"{match['year']}-{number:02}-{day:02}T{hour:02}:{match['minute']}"
    return read_time(f"{clock}:{match['second'] or '00'}", (zone,))
