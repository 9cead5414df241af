"""Commands by which grades leave for a learning platform, and checks for Gradescope."""

import csv
import io
import json
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from autograder.authoring.course import find_course, find_course_with_checks
from autograder.cli.options import (
    FINDINGS,
    json_option,
    note,
    out_option,
    report_errors,
    results_of,
)
from autograder.lms.export import (
    ExportRequest,
    export_formats,
    notes_on_earlier,
    with_late_days,
    write_export,
)
from autograder.lms.gradescope_package import VISIBILITIES
from autograder.records import GraderError

_FORMATS = export_formats()
_COMMENTS = "Feedback comments"
_LINES = "\n".join(f"  {one.name:<18}{one.summary}" for one in _FORMATS.values())
_ROSTERS = "\n".join(f"  {one.name:<18}{one.roster}" for one in _FORMATS.values() if one.roster)
_EXPORT_EPILOG = f"""\b
Examples:
  autograder export ps1 > ps1.csv
  autograder export ps1 --format canvas --roster gradebook.csv > to-canvas.csv
  autograder export ps1 --format moodle-worksheet --roster worksheet.csv --comments
  autograder export ps1 --format moodle --identifier "ID number" --roster people.csv

\b
Formats, and what they take where an option is not given:
{_LINES}

\b
Where a roster comes from:
{_ROSTERS}

Students are matched by what identifies them: login, number, address; those collected from an
archive by the number in its names, if the names agree too. Whoever cannot be matched, on either
side, is named with their points on stderr.
"""


@click.command(epilog=_EXPORT_EPILOG)
@click.argument("name", metavar="SET")
@click.option(
    "--format", "form", type=click.Choice(list(_FORMATS)), default="csv", show_default=True
)
@click.option(
    "--roster", type=click.Path(path_type=Path), help="CSV file that the platform has exported."
)
@click.option("--column", default="", help="Name of the column of grades.")
@click.option("--identifier", default="", help="Name of the column that says who it is.")
@click.option(
    "--comments",
    is_flag=False,
    flag_value=_COMMENTS,
    default="",
    metavar="[COLUMN]",
    help=f"For Moodle: also say what each item earned, in this column.  [default: {_COMMENTS}]",
)
@out_option
@click.option("--db", default="", help="Gradebook, as an SQLAlchemy address.")
@json_option
@click.pass_obj
@report_errors
def export(
    folder: Path | None,
    name: str,
    form: str,
    roster: Path | None,
    column: str,
    identifier: str,
    comments: str,
    out: Path,
    db: str,
    as_json: bool,
) -> None:
    """Print grades as CSV: nbgrader's columns, or those that a learning platform takes.

    Whoever may not read points yet, by what course.toml says of feedback, is left out and named.
    Late penalties and points given by hand are in them, as in formgrader; late days stand in
    the format csv and in Moodle's comments. Cells that a spreadsheet would take for formulas get an
    apostrophe. With --json, the same columns and rows come in one document, with the notes.
    """
    from autograder.authoring.outline import joined
    from autograder.authoring.release import ReleasedSet
    from autograder.class_run.settings import Settings
    from autograder.files import read_table
    from autograder.store.gradebook import Gradebook
    from autograder.store.hand_given import HandGiven, with_marks
    from autograder.store.journal import Journal

    course = find_course(folder)
    sets = [ReleasedSet(course, one) for one in course.of_assignment(name)]
    outline = sets[0].outline if len(sets) == 1 else joined(name, [one.outline for one in sets])
    out, db = results_of(course, out, db)
    if not db and not (out / "gradebook.db").exists():
        raise GraderError(f"no gradebook at {out / 'gradebook.db'}: grade a class first")
    table = read_table(roster) if roster is not None else None
    with Gradebook(Settings(out, db).url) as book:
        scores = with_late_days(
            book.final_scores(name, outline.belongs), Journal(out, sets[0].name)
        )
    scores = with_marks(scores, [HandGiven(out, one.name) for one in sets])
    kept_back = dict(_kept_back(sets, out))
    graded = [score for score in scores if score.is_graded and score.student not in kept_back]
    ungraded = [score for score in scores if not score.is_graded]
    request = ExportRequest(outline, graded, table, column, identifier, comments, ungraded)
    made = write_export(_FORMATS[form], request)
    notes = (
        *made.notes,
        *notes_on_earlier(scores),
        *(f"{one.student} has no grade: nothing could be read" for one in ungraded),
        *(f"{student} is left out: {why}" for student, why in kept_back.items()),
    )
    if as_json:
        columns, *rows = csv.reader(io.StringIO(made.text, newline=""))
        plain = {"problem_set": name, "format": form, "columns": columns, "rows": rows}
        click.echo(json.dumps({**plain, "notes": notes}, indent=1))
    else:
        click.echo(made.text, nl=False)
        note(notes)
    sys.exit(FINDINGS if notes else 0)


def _kept_back(sets: Sequence[Any], out: Path) -> Iterator[tuple[str, str]]:
    """Name the students who may not read their points yet, each with the reason."""
    from autograder.reports.html import when
    from autograder.reports.limited import shown_now
    from autograder.store.journal import Journal

    for released in sets:
        journal = Journal(out, released.name)
        records = [journal.read(student) for student in journal.students()]
        for grade in (record.grade for record in records if record is not None):
            shown = shown_now(released.policy, grade, datetime.now(UTC))
            if not shown.has_points:
                until = f" before {when(shown.until.isoformat())}" if shown.until else ""
                yield grade.student, f"course.toml shows no points to students{until}"


@click.command(epilog="\b\nExample:\n  autograder gradescope ps1 --visibility after_published")
@click.argument("name", metavar="SET")
@click.option(
    "--visibility",
    type=click.Choice(VISIBILITIES),
    default=VISIBILITIES[0],
    show_default=True,
    help="When students see what each item earned. Shown at once, points can be guessed at.",
)
@out_option
@json_option
@click.pass_obj
@report_errors
def gradescope(folder: Path | None, name: str, visibility: str, out: Path, as_json: bool) -> None:
    """Pack a set's checks for Gradescope, as autograder.zip.

    Upload it to a programming assignment. There it grades each submission in the same sandbox, by
    the same checks. A container that cannot isolate student code runs none of it, and says in its
    log what to do.
    """
    from autograder.lms.gradescope_package import write_package

    path = write_package(find_course_with_checks(folder), name, out, visibility)
    n_bytes = path.stat().st_size
    if as_json:
        click.echo(json.dumps({"problem_set": name, "package": str(path), "bytes": n_bytes}))
    else:
        click.echo(f"{name}: {path}  ({n_bytes / 1e6:.1f} MB)")
