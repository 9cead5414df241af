"""Canvas: the file that its gradebook imports."""

import re
from collections.abc import Sequence

from autograder.files import Table, write_table
from autograder.intake.identity import same_id
from autograder.lms.export import (
    Export,
    ExportRequest,
    Format,
    notes_on_ungraded,
    points_text,
    required_roster,
)
from autograder.lms.rosters import Person, match
from autograder.records import FinalScore, GraderError

_IDS = ("SIS Login ID", "SIS User ID", "ID")
_UNGRADED = {"EX": "is excused in Canvas", "N/A": "is not assigned it in Canvas"}


def canvas(request: ExportRequest) -> Export:
    """Make the file that Canvas imports into its gradebook.

    Only students with a grade stand in it: Canvas would take an empty cell for "no grade". The
    roster is exported from the same gradebook.
    """
    scores, roster = request.scores, required_roster(request, "canvas")
    wanted = [request.column] if request.column else [request.outline.name, request.outline.title]
    section = roster.index("Section")
    names = [roster.index(column) for column in _name_columns(roster)]
    heading, column, notes = _assignment_column(roster, section, wanted)
    students = [row for row, cells in enumerate(roster.rows) if _is_student(cells, names[0])]
    people = [_person(roster, row, names) for row in students]
    matched = match(scores, people, roster.name)
    if column is not None and any("scores hidden" in row[column] for row in roster.rows):
        notes.append(f"Canvas ignores scores of {heading} while they are hidden from instructors")
    notes += [*matched.notes, *notes_on_ungraded(scores)]
    rows = []
    for person in people:
        cells, score = roster.rows[person.row], matched.rows.get(person.row)
        if score is None:
            continue
        reason = _UNGRADED.get(cells[column].strip().upper()) if column is not None else None
        if reason:
            notes.append(f"{person.name} {reason}; {points_text(score.points)} not entered")
            continue
        rows.append([*cells[: section + 1], points_text(score.points)])
    possible, note = _points_possible(scores, roster, column)
    first = ["    Points Possible", *[""] * section, possible]
    header = [*roster.header[: section + 1], heading]
    return Export(write_table([header, first, *rows]), (*notes, *note))


def _name_columns(roster: Table) -> tuple[str, ...]:
    if roster.find("LastName") is not None:
        return "LastName", "FirstName"
    return ("Student",)


def _is_student(cells: Sequence[str], name: int) -> bool:
    """Whether a row is a student's; others give the points possible or how grades are posted."""
    if "points possible" in cells[name].casefold():
        return False
    return not all(re.fullmatch(r"\s*(muted|manual posting.*)?\s*", cell, re.I) for cell in cells)


def _person(roster: Table, row: int, names: Sequence[int]) -> Person:
    cells = roster.rows[row]
    ids = [cells[column] for column in map(roster.find, _IDS) if column is not None]
    shown = ", ".join(cells[column] for column in names)
    number = cells[roster.index("ID")].strip()
    return Person(row, shown, frozenset(map(same_id, ids)) - {""}, number)


def _assignment_column(
    roster: Table, section: int, wanted: Sequence[str]
) -> tuple[str, int | None, list[str]]:
    """Find the assignment's column, with or without the number that Canvas adds to its name.

    Where none has the name itself, the name may have something before or after it there, as in
    "Week 3: Problem set 1 (4711)"; a note then says which column it is.
    """
    known = {same_id(name) for name in wanted}
    bare = {
        column: re.sub(r"\s*\(\d+\)$", "", heading)
        for column, heading in enumerate(roster.header)
        if column > section
    }
    columns = [
        column for column in bare if {same_id(roster.header[column]), same_id(bare[column])} & known
    ]
    notes = []
    if not columns:
        columns = [
            column for column in bare if any(_begins_or_ends(bare[column], n) for n in wanted)
        ]
        notes = [f"grades go into the column {roster.header[column]!r}" for column in columns]
    if len(columns) > 1:
        several = ", ".join(roster.header[column] for column in columns)
        raise GraderError(
            f"{roster.name} has several columns for it: {several}; name one: --column"
        )
    if columns:
        return roster.header[columns[0]], columns[0], notes
    others = [name for name in roster.header[section + 1 :] if re.search(r"\(\d+\)$", name)]
    note = f"{roster.name} has no column {wanted[0]!r}: Canvas will create a new assignment"
    return wanted[0], None, [f"{note}; it has: {', '.join(others)}" if others else note]


def _begins_or_ends(heading: str, name: str) -> bool:
    """Whether the words of a heading begin or end with those of a name."""
    words, wanted = (re.findall(r"\w+", text.casefold()) for text in (heading, name))
    return bool(wanted) and wanted in (words[: len(wanted)], words[-len(wanted) :])


def _points_possible(
    scores: Sequence[FinalScore], roster: Table, column: int | None
) -> tuple[str, list[str]]:
    most = points_text(max((score.max_points for score in scores), default=0.0))
    for cells in roster.rows if column is not None else ():
        if "points possible" in cells[0].casefold() and column is not None:
            known = cells[column].strip().replace(",", ".")
            if re.fullmatch(r"\d+(\.\d+)?", known) and points_text(float(known)) != most:
                return known, [f"Canvas has {known} points possible, the problem set {most}"]
    return most, []


FORMATS = (
    Format(
        "canvas",
        "what Canvas's gradebook imports; --column is the set's name or title there",
        canvas,
        roster="Grades > Export: the gradebook; it goes back by Grades > Import",
    ),
)
