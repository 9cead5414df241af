"""The command by which feedback goes back to students."""

import json
import sys
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import click

from autograder.authoring.course import find_course
from autograder.cli.options import (
    FINDINGS,
    json_option,
    note,
    out_option,
    report_errors,
    results_of,
)
from autograder.lms.export import notes_on_earlier
from autograder.lms.give_back import WAYS, Feedback, pack


@click.command(
    epilog="""\b
Examples:
  autograder feedback ps1 --to canvas    then: Gradebook > Re-Upload Submissions
  autograder feedback ps1 --to moodle    then: Upload multiple feedback files in a zip
  autograder feedback ps1 --to mail --roster people.csv

\b
  canvas   OUT/given_back/ps1-canvas.zip: a notebook of feedback for each file, under the name that
           Canvas gave it; Canvas attaches it to a comment on that submission
  moodle   OUT/given_back/ps1-moodle.zip: the pages, in folders named as in Moodle's own archive;
           the assignment needs the feedback type "Feedback files"
  mail     OUT/given_back/ps1-mail/: a folder of pages, and mail.csv for mail merge, with name,
           address, points, late days and the page to attach

nbgrader's exchange needs nothing packed: `nbgrader release_feedback ps1` finds the pages below OUT.
"""
)
@click.argument("name", metavar="SET")
@click.option("--to", "way", type=click.Choice(WAYS), required=True, help="Which way it goes.")
@click.option(
    "--roster",
    type=click.Path(path_type=Path),
    help="For mail: CSV file with addresses, as Canvas's gradebook, Moodle's worksheet or list of "
    "participants, or the columns student and email.",
)
@out_option
@click.option("--db", default="", help="Gradebook, as an SQLAlchemy address.")
@json_option
@click.pass_obj
@report_errors
def feedback(
    folder: Path | None,
    name: str,
    way: str,
    roster: Path | None,
    out: Path,
    db: str,
    as_json: bool,
) -> None:
    """Pack students' feedback as their platform takes it back, or for mail.

    The pages are made again first, from what is recorded and what people have given by now. Nothing
    is run. Whoever cannot be reached in the chosen way is named with the reason.
    """
    from autograder.authoring.release import ReleasedSet
    from autograder.class_run.outputs import write_pages
    from autograder.class_run.settings import Settings
    from autograder.class_run.student_pages import as_graded
    from autograder.files import read_table
    from autograder.reports.limited import shown_now
    from autograder.store.gradebook import Gradebook
    from autograder.store.hand_given import HandGiven, with_marks
    from autograder.store.journal import Journal

    course = find_course(folder)
    names = course.of_assignment(name)
    if len(names) > 1:
        raise click.UsageError(f"{name} has several notebooks; name one of {', '.join(names)}")
    released = ReleasedSet(course, name)
    out, db = results_of(course, out, db)
    table = read_table(roster) if roster is not None else None
    settings = Settings(out, db)
    _, kept = write_pages([released], settings)
    note(kept)
    journal, pages = Journal(out, name), course.output("feedback", out)
    with Gradebook(settings.url) as book:
        belongs = released.outline.belongs
        by_hand = HandGiven(out, name).marked(book.hand_grades(name, belongs))
        marked = with_marks(book.final_scores(name, belongs), [HandGiven(out, name)])
    scores = {score.student: score for score in marked}
    records = journal.records()
    feedbacks, missing = [], []
    for record in records:
        student = record.grade.student
        try:
            page = (pages / student / released.outline.page).read_bytes()
        except OSError as error:
            missing.append(f"{student} is left out: the page cannot be read: {error.strerror}")
            continue
        repaired = partial(as_graded, released, record.grade, out)
        given, score = by_hand.get(student, {}), scores.get(student)
        shown = shown_now(released.policy, record.grade, datetime.now(UTC))
        feedbacks.append(Feedback(record.grade, record.origin, page, repaired, given, score, shown))
    packed = pack(way, released.outline, feedbacks, out / "given_back", table)
    packed = replace(packed, notes=(*missing, *packed.notes))
    path = packed.path.resolve()
    note((*packed.kept, *notes_on_earlier(marked)))
    if as_json:
        plain = {"problem_set": name, "to": way, "path": str(path), "students": packed.n_students}
        click.echo(json.dumps({**plain, "notes": packed.notes}, indent=1))
    else:
        click.echo(f"{name}: feedback for {packed.n_students} students: {path}")
        note(packed.notes)
    sys.exit(FINDINGS if packed.notes else 0)
