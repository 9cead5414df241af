"""Moodle: the file that its gradebook imports, and an assignment's grading worksheet."""

import re
from collections.abc import Sequence

from autograder.files import Table, write_table
from autograder.intake.identity import same_id
from autograder.lms.export import (
    Export,
    ExportRequest,
    Format,
    comment_html,
    notes_on_ungraded,
    points_text,
    required_roster,
)
from autograder.lms.rosters import Person, match
from autograder.records import FinalScore
from autograder.untrusted import as_cell

_IDS = ("Username", "ID number", "Email address")
_PARTICIPANT = "Identifier"


def moodle(request: ExportRequest) -> Export:
    """Make the file that Moodle imports into its gradebook.

    Moodle finds people by the column `identifier`: "Email address", "ID number" or "Username". The
    roster lists participants with that column; without one, students are called what they are here.
    """
    scores, roster = request.scores, request.roster
    identifier = request.identifier or "Email address"
    notes = notes_on_ungraded(scores)
    named: list[tuple[str, FinalScore]] = []
    if roster is not None:
        column = roster.index(identifier)
        people = [_person(roster, row, "") for row in range(len(roster.rows))]
        matched = match(scores, people, roster.name)
        notes += matched.notes
        named = [(roster.rows[row][column].strip(), score) for row, score in matched.rows.items()]
    else:
        by_mail = same_id(identifier) == same_id("Email address")
        named = [(_address(score) if by_mail else score.student, score) for score in scores]
    rows = []
    for name, score in sorted(named, key=lambda pair: pair[0]):
        points = points_text(score.points)
        if not name:
            notes.append(f"{score.student} ({points} points) has no {identifier}")
            continue
        if as_cell(name) != name:
            notes.append(f"{name} got an apostrophe, so that no spreadsheet runs it: fix it there")
        comment = [comment_html(score, request.outline)] if request.comments else []
        rows.append([name, points, *comment])
    grades = request.column or request.outline.title
    header = [identifier, grades, *([request.comments] if request.comments else [])]
    return Export(write_table([header, *rows]), tuple(notes))


def moodle_worksheet(request: ExportRequest) -> Export:
    """Fill in the grading worksheet that was downloaded from a Moodle assignment.

    Every other cell stays as it came: Moodle refuses rows whose dates have changed. Where Moodle
    speaks another language, `identifier` is the column of "Participant 123456" and `column` that
    of the grades.
    """
    scores, worksheet = request.scores, required_roster(request, "moodle-worksheet")
    identifier = request.identifier or _PARTICIPANT
    grades = worksheet.index(request.column or "Grade")
    comments = worksheet.index(request.comments) if request.comments else None
    worksheet.index(identifier)
    people = [_person(worksheet, row, identifier) for row in range(len(worksheet.rows))]
    matched = match(scores, people, worksheet.name)
    notes = [*notes_on_ungraded(scores), *matched.notes]
    may_change = worksheet.find("Grade can be changed")
    highest = worksheet.find("Maximum grade")
    rows = []
    for person, old in zip(people, worksheet.rows, strict=True):
        cells, score = list(old), matched.rows.get(person.row)
        if score is not None:
            points = points_text(score.points)
            locked = may_change is not None and same_id(old[may_change]) == "no"
            problem = "locked in Moodle" if locked else _too_high(score, old, highest)
            if problem:
                notes.append(f"{person.name}: {points} not entered: {problem}")
            else:
                cells[grades] = points
                if comments is not None:
                    cells[comments] = comment_html(score, request.outline)
        rows.append(cells)
    return Export(write_table([worksheet.header, *rows]), tuple(notes))


def _person(roster: Table, row: int, identifier: str) -> Person:
    cells = roster.rows[row]
    ids = [cells[column] for column in map(roster.find, _IDS) if column is not None]
    column = roster.find(identifier or _PARTICIPANT)
    participant = cells[column].strip() if column is not None else ""
    number = re.search(r"\d+$", participant)
    parts = [roster.find(name) for name in ("Full name", "First name", "Last name", "Surname")]
    name = " ".join(cells[part] for part in parts if part is not None)
    # Where marking is blind, the archive too says only "Participant".
    name = name or re.sub(r"\s*\d+$", "", participant) or (ids or [""])[0]
    return Person(row, name, frozenset(map(same_id, ids)) - {"", "-"}, number[0] if number else "")


def _address(score: FinalScore) -> str:
    return score.email or (score.student if "@" in score.student else "")


def _too_high(score: FinalScore, cells: Sequence[str], highest: int | None) -> str:
    most = cells[highest].strip().replace(",", ".") if highest is not None else ""
    if not re.fullmatch(r"\d+(\.\d+)?", most):
        return ""
    return f"more than Moodle's maximum of {most}" if score.points > float(most) else ""


FORMATS = (
    Format(
        "moodle",
        "what Moodle's gradebook imports; --identifier is Email address, --column the set's title",
        moodle,
        roster="Participants > Download table data; grades go in by Grades > Import > CSV",
    ),
    Format(
        "moodle-worksheet",
        "Moodle's grading worksheet, filled in; --identifier is Identifier, --column is Grade",
        moodle_worksheet,
        roster="the assignment > Download grading worksheet; back by Upload grading worksheet",
    ),
)
