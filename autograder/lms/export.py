"""What an export format is, and which ones there are.

A format is a module in `autograder.lms.formats` that lists what it offers in `FORMATS`; the command
line finds it there. Each makes one file from the gradebook's final scores, with late penalties and
points given by hand in them, and says whom it could not enter and why.
"""

import contextlib
import importlib
import pkgutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from autograder.authoring.outline import Outline
from autograder.files import Table
from autograder.inside.probe import describe
from autograder.records import FinalScore, GraderError, HandGrade, Timing
from autograder.reports.html import still_open
from autograder.store.journal import Journal
from autograder.untrusted import as_html, as_line


@dataclass(frozen=True)
class Export:
    """A file for a learning platform.

    Attributes:
        notes: what its reader must know, above all who is not in it.
    """

    text: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class ExportRequest:
    """What to export, and what the command line was told about it.

    Attributes:
        outline: of the problem set, with the titles that students read.
        scores: of those of whom anything was graded.
        roster: what the platform exported; whoever it names is found by their identifiers.
        column: name of the column of grades; empty for the format's own.
        identifier: name of the column that says who it is; empty for the format's own.
        comments: name of a column of comments to be written; none if empty.
        ungraded: scores of the others, whose file was refused: no grade, which is not 0 points.
    """

    outline: Outline
    scores: Sequence[FinalScore]
    roster: Table | None = field(default=None, repr=False)
    column: str = ""
    identifier: str = ""
    comments: str = ""
    ungraded: Sequence[FinalScore] = ()


@dataclass(frozen=True)
class Format:
    """One way to write grades.

    Attributes:
        name: by which `--format` knows it.
        summary: what it makes, for `--help`.
        roster: where its roster comes from and where the result goes, for `--help`; empty if it
            takes none.
    """

    name: str
    summary: str
    write: Callable[[ExportRequest], Export]
    roster: str = ""


def export_formats() -> dict[str, Format]:
    """Load every module of `autograder.lms.formats` and return its formats by name."""
    from autograder.lms import formats

    by_name: dict[str, Format] = {}
    for module in pkgutil.iter_modules(formats.__path__, f"{formats.__name__}."):
        for one in importlib.import_module(module.name).FORMATS:
            if one.name in by_name:
                raise ValueError(f"two export formats are called {one.name!r}")
            by_name[one.name] = one
    return by_name


def write_export(form: Format, request: ExportRequest) -> Export:
    """Write grades; whoever's cannot be written is left out, and named in the notes.

    Raises:
        GraderError: as the format does.
    """
    try:
        return form.write(request)
    except GraderError:
        raise
    except Exception as error:
        why = {score.student: _why_not(form, request, score) for score in request.scores}
        kept = [score for score in request.scores if not why[score.student]]
        if len(kept) == len(why):
            raise GraderError(f"--format {form.name} failed: {describe(error)}") from error
    made = form.write(replace(request, scores=kept))
    left_out = [f"{one} is left out: {because}" for one, because in why.items() if because]
    return replace(made, notes=(*made.notes, *left_out))


def _why_not(form: Format, request: ExportRequest, score: FinalScore) -> str:
    try:
        with contextlib.suppress(GraderError):
            form.write(replace(request, scores=[score], ungraded=()))
    except Exception as error:
        return as_line(describe(error))
    return ""


def required_roster(request: ExportRequest, format_name: str) -> Table:
    """Return the roster of a format that cannot do without.

    Raises:
        GraderError: if there is none.
    """
    if request.roster is None:
        raise GraderError(
            f"--format {format_name} needs --roster: `export --help` says where it is from"
        )
    return request.roster


def with_late_days(scores: Sequence[FinalScore], journal: Journal) -> list[FinalScore]:
    """Return scores with the late days that the records of their set know of."""
    timed = []
    for score in scores:
        record = journal.read(score.student)
        timing = record.grade.timing if record is not None else Timing()
        left = timing.late_days_left
        timed.append(replace(score, late_days=timing.late_days, late_days_left=left))
    return timed


def points_text(value: float) -> str:
    """Return points as every platform reads them."""
    return f"{value:.4f}".rstrip("0").rstrip(".")


def total_text(score: FinalScore) -> str:
    """Return what a submission has come to so far, as its author reads it on every page."""
    waiting = sum(item.max_points for item in score.items if item.waiting)
    known = score.max_points - waiting
    return f"{points_text(score.points)} of {points_text(known)} points{still_open(waiting)}"


def comment_html(score: FinalScore, outline: Outline) -> str:
    """Return what a student may read about a grade: HTML on one line, as Moodle takes it.

    Items bear the titles that they have in the notebook; one that is no longer in it, its name.
    """
    lines, titles = [], outline.titles
    for item in score.items:
        title = titles.get(item.name, item.name)
        earned = "not graded yet" if item.waiting else f"{points_text(item.points)} points"
        given = item.by_hand or HandGrade(None)
        earlier = ", given for an earlier answer" * given.earlier_points
        lines.append(f"{title}: {earned} of {points_text(item.max_points)}{earlier}")
        about = "of an earlier answer: " * given.earlier_comment
        lines += [f"{about}{item.comment}"] if item.comment else []
    if any(item.waiting for item in score.items):
        lines.append(f"together: {total_text(score)}")
    if score.penalty:
        lines.append(f"late: {points_text(score.penalty)} points taken off")
    if score.late_days_left is not None:
        lines.append(f"late days: {score.late_days} spent, {score.late_days_left} left")
    return "<br>".join(str(as_html(line)).replace("\n", "<br>") for line in lines)


def notes_on_earlier(scores: Sequence[FinalScore]) -> list[str]:
    """Name whose points or comments by hand were given for answers that have changed since."""
    return [
        f"{score.student}: {item.name} has changed since people graded it; look again"
        for score in scores
        for item in score.items
        if item.by_hand is not None and item.by_hand.is_of_earlier
    ]


def notes_on_ungraded(scores: Sequence[FinalScore]) -> list[str]:
    """Say how many answers nobody has graded by hand yet; nothing if there are none."""
    waiting = [score for score in scores if any(item.waiting for item in score.items)]
    if not waiting:
        return []
    n_answers = sum(item.waiting for score in waiting for item in score.items)
    answers = f"{n_answers} answer{'s' * (n_answers > 1)}"
    students = f"{len(waiting)} student{'s' * (len(waiting) > 1)}"
    verbs = "are not graded by hand yet and count"
    if n_answers == 1:
        verbs = "is not graded by hand yet and counts"
    return [f"{answers} of {students} {verbs} 0"]
