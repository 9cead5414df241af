"""Grades in the files that learning platforms take.

Each function makes one file from the gradebook's final scores, with late penalties and points given
by hand in them, and says whom it could not enter and why.
"""

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass

from autograder.files import Table, harmless, write_table
from autograder.lms.rosters import Person, match, same_id
from autograder.records import FinalScore, GraderError

_CANVAS_IDS = ("SIS Login ID", "SIS User ID", "ID")
_MOODLE_IDS = ("Username", "ID number", "Email address")
_MOODLE_PARTICIPANT = "Identifier"
COMMENTS = "Feedback comments"


@dataclass(frozen=True)
class Export:
    """A file for a learning platform.

    Attributes:
        notes: what its reader must know, above all who is not in it.
    """

    text: str
    notes: tuple[str, ...] = ()


def points(value: float) -> str:
    """Return points as every platform reads them."""
    return f"{value:.4f}".rstrip("0").rstrip(".")


def comment(score: FinalScore) -> str:
    """Return what a student may read about a grade: HTML on one line, as Moodle takes it."""
    lines = []
    for item in score.items:
        earned = "not graded yet" if item.waiting else f"{points(item.points)} points"
        lines.append(f"{item.name}: {earned} of {points(item.max_points)}")
        lines += [item.comment] if item.comment else []
    if score.penalty:
        lines.append(f"late: {points(score.penalty)} points taken off")
    return "<br>".join(html.escape(line).replace("\n", "<br>") for line in lines)


# ------------------------------------------------------------------ Canvas
def canvas(
    scores: Sequence[FinalScore], roster: Table, names: Sequence[str], column: str = ""
) -> Export:
    """Make the file that Canvas imports into its gradebook.

    Only students with a grade stand in it: Canvas would take an empty cell for "no grade".

    Args:
        roster: exported from the same gradebook; whoever it names is found by their identifiers.
        names: what the assignment may be called there, the first one best.
        column: its name there, if it is none of these.
    """
    section = roster.place("Section")
    whose = [roster.place(name) for name in _canvas_name_columns(roster)]
    heading, graded, notes = _canvas_column(roster, section, [column] if column else names)
    students = [place for place, row in enumerate(roster.rows) if _is_canvas_student(row, whose[0])]
    people = [_canvas_person(roster, place, whose) for place in students]
    matched = match(scores, people, roster.name)
    notes += [*matched.notes, *_waiting(scores)]
    rows = []
    for place in students:
        row, score = roster.rows[place], matched.rows.get(place)
        if score is None:
            continue
        if graded is not None and row[graded].strip().upper() == "EX":
            notes.append(
                f"{row[whose[0]]} is excused in Canvas; {points(score.points)} not entered"
            )
            continue
        rows.append([*row[: section + 1], points(score.points)])
    possible, note = _points_possible(scores, roster, graded)
    first = ["    Points Possible", *[""] * section, possible]
    header = [*roster.header[: section + 1], heading]
    return Export(write_table([header, first, *rows]), (*notes, *note))


def _canvas_name_columns(roster: Table) -> tuple[str, ...]:
    if roster.find("LastName") is not None:
        return "LastName", "FirstName"
    return ("Student",)


def _is_canvas_student(row: Sequence[str], name: int) -> bool:
    """Whether a row is a student's; others give the points possible or how grades are posted."""
    if "points possible" in row[name].casefold():
        return False
    return not all(re.fullmatch(r"\s*(muted|manual posting.*)?\s*", cell, re.I) for cell in row)


def _canvas_person(roster: Table, place: int, name: Sequence[int]) -> Person:
    row = roster.rows[place]
    ids = [row[column] for column in map(roster.find, _CANVAS_IDS) if column is not None]
    shown = ", ".join(row[column] for column in name)
    number = row[roster.place("ID")].strip()
    return Person(place, shown, frozenset(map(same_id, ids)) - {""}, number)


def _canvas_column(
    roster: Table, section: int, names: Sequence[str]
) -> tuple[str, int | None, list[str]]:
    """Find the assignment's column, with or without the number that Canvas adds to its name."""
    wanted = {same_id(name) for name in names}
    found = []
    for place, heading in enumerate(roster.header):
        bare = re.sub(r"\s*\(\d+\)$", "", heading)
        if place > section and {same_id(heading), same_id(bare)} & wanted:
            found.append(place)
    if len(found) > 1:
        several = ", ".join(roster.header[place] for place in found)
        raise GraderError(
            f"{roster.name} has several columns for it: {several}; name one: --column"
        )
    if found:
        return roster.header[found[0]], found[0], []
    known = ", ".join(name for name in roster.header[section + 1 :] if re.search(r"\(\d+\)$", name))
    note = f"{roster.name} has no column {names[0]!r}: Canvas will make a new assignment of it"
    return names[0], None, [f"{note}; it has: {known}" if known else note]


def _points_possible(
    scores: Sequence[FinalScore], roster: Table, graded: int | None
) -> tuple[str, list[str]]:
    most = points(max((score.max_points for score in scores), default=0.0))
    for row in roster.rows if graded is not None else ():
        if "points possible" in row[0].casefold() and graded is not None:
            known = row[graded].strip().replace(",", ".")
            if re.fullmatch(r"\d+(\.\d+)?", known) and points(float(known)) != most:
                return known, [f"Canvas has {known} points possible, the problem set {most}"]
    return most, []


# ------------------------------------------------------------------ Moodle
def moodle(
    scores: Sequence[FinalScore],
    column: str,
    identifier: str,
    roster: Table | None = None,
    comments: str = "",
) -> Export:
    """Make the file that Moodle imports into its gradebook.

    Args:
        column: name of the column of grades.
        identifier: by which Moodle finds people, as "Email address", "ID number" or "Username".
        roster: participants with that column; without one, students are called what they are here.
        comments: name of a column of comments; none if empty.
    """
    notes = list(_waiting(scores))
    named: list[tuple[str, FinalScore]] = []
    if roster is not None:
        place = roster.place(identifier)
        people = [_moodle_person(roster, number, "") for number in range(len(roster.rows))]
        matched = match(scores, people, roster.name)
        notes += matched.notes
        named = [(roster.rows[row][place].strip(), score) for row, score in matched.rows.items()]
    else:
        by_mail = same_id(identifier) == same_id("Email address")
        named = [(_address(score) if by_mail else score.student, score) for score in scores]
    rows = []
    for name, score in sorted(named, key=lambda pair: pair[0]):
        if not name:
            notes.append(f"{score.student} ({points(score.points)} points) has no {identifier}")
            continue
        if harmless(name) != name:
            notes.append(f"{name} got an apostrophe, so that no spreadsheet runs it: mend it there")
        rows.append([name, points(score.points), *([comment(score)] if comments else [])])
    header = [identifier, column, *([comments] if comments else [])]
    return Export(write_table([header, *rows]), tuple(notes))


def moodle_worksheet(
    scores: Sequence[FinalScore],
    worksheet: Table,
    identifier: str = _MOODLE_PARTICIPANT,
    column: str = "Grade",
    comments: str = "",
) -> Export:
    """Fill in the grading worksheet that was downloaded from a Moodle assignment.

    Every other cell stays as it came: Moodle refuses rows whose dates have changed.

    Args:
        identifier: the column of "Participant 123456", if Moodle speaks another language.
        column: that of the grades, likewise.
        comments: that of the comments, to be filled in too; left alone if empty.
    """
    grades = worksheet.place(column)
    remarks = worksheet.place(comments) if comments else None
    worksheet.place(identifier)
    people = [
        _moodle_person(worksheet, number, identifier) for number in range(len(worksheet.rows))
    ]
    matched = match(scores, people, worksheet.name)
    notes = [*_waiting(scores), *matched.notes]
    open_to_change, highest = (
        worksheet.find("Grade can be changed"),
        worksheet.find("Maximum grade"),
    )
    rows = []
    for place, old in enumerate(worksheet.rows):
        row, score = list(old), matched.rows.get(place)
        if score is not None:
            locked = open_to_change is not None and same_id(old[open_to_change]) == "no"
            problem = "locked in Moodle" if locked else _too_high(score, old, highest)
            if problem:
                notes.append(f"{people[place].name}: {points(score.points)} not entered: {problem}")
            else:
                row[grades] = points(score.points)
                if remarks is not None:
                    row[remarks] = comment(score)
        rows.append(row)
    return Export(write_table([worksheet.header, *rows]), tuple(notes))


def _moodle_person(roster: Table, place: int, identifier: str) -> Person:
    row = roster.rows[place]
    ids = [row[column] for column in map(roster.find, _MOODLE_IDS) if column is not None]
    column = roster.find(identifier or _MOODLE_PARTICIPANT)
    participant = row[column].strip() if column is not None else ""
    number = re.search(r"\d+$", participant)
    parts = [roster.find(name) for name in ("Full name", "First name", "Last name", "Surname")]
    name = " ".join(row[part] for part in parts if part is not None)
    # Where marking is blind, the archive too says only "Participant".
    name = name or re.sub(r"\s*\d+$", "", participant) or (ids or [""])[0]
    ids_here = frozenset(map(same_id, ids)) - {"", "-"}
    return Person(place, name, ids_here, number[0] if number else "")


def _address(score: FinalScore) -> str:
    return score.email or (score.student if "@" in score.student else "")


def _too_high(score: FinalScore, row: Sequence[str], highest: int | None) -> str:
    most = row[highest].strip().replace(",", ".") if highest is not None else ""
    if not re.fullmatch(r"\d+(\.\d+)?", most):
        return ""
    if score.points > float(most):
        return f"more than Moodle's maximum of {most}"
    return ""


def _waiting(scores: Sequence[FinalScore]) -> list[str]:
    waiting = [score for score in scores if any(item.waiting for item in score.items)]
    if not waiting:
        return []
    n_answers = sum(item.waiting for score in waiting for item in score.items)
    answers = f"{n_answers} answer{'s' * (n_answers > 1)}"
    students = f"{len(waiting)} student{'s' * (len(waiting) > 1)}"
    verbs = (
        "are not graded by hand yet and count"
        if n_answers > 1
        else "is not graded by hand yet and counts"
    )
    return [f"{answers} of {students} {verbs} 0"]
