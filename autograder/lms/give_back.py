"""Give feedback back: pack it as the platform takes it that the submissions came from, or for mail.

    canvas   a zip for "Re-Upload Submissions": notebooks under the names that Canvas gave the files
    moodle   a zip for "Upload multiple feedback files in a zip": pages under the names that Moodle
             gave the folders, or the files
    mail     a folder of pages, and a CSV that says whose is which, for mail merge

nbgrader's exchange needs nothing packed: its `release_feedback` finds the pages where they are.

Each platform finds its people by numbers in the names that it has written itself. So a file goes
back under the very name under which it came, and whoever cannot be reached in this way is named.
"""

import errno
import io
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from autograder.authoring.notebooks import as_text, assignment_and_notebook
from autograder.authoring.outline import Outline
from autograder.authoring.workspace import keep_beside
from autograder.files import (
    OWN_FILES,
    OwnFiles,
    Table,
    write_atomically,
    write_if_new,
    write_table,
)
from autograder.inside.probe import describe
from autograder.intake.identity import same_id
from autograder.intake.layouts import Layout
from autograder.intake.repair import RepairedNotebook
from autograder.lms.export import points_text, total_text
from autograder.lms.rosters import Person, match
from autograder.records import FinalScore, Grade, GraderError, HandGrade, Origin
from autograder.reports.feedback_notebook import feedback_notebook
from autograder.reports.html import keep_changed, said_of_kept
from autograder.reports.limited import ALL, Shown
from autograder.store.journal import file_name
from autograder.untrusted import as_line

_LONG_AGO = (1980, 1, 1, 0, 0, 0)  # the same bytes each time
_IDS = (
    *("student", "Username", "ID number", "Email address", "Email", "E-mail"),
    *("SIS Login ID", "SIS User ID", "ID"),
)
_ADDRESSES = ("Email address", "Email", "E-mail", "SIS Login ID", "Username", "student")
_NAMES = (("Full name",), ("First name", "Last name"), ("First name", "Surname"), ("Student",))


@dataclass(frozen=True)
class Feedback:
    """What one student is to get.

    Attributes:
        page: the student's page, HTML.
        repaired: makes the notebook as it was graded; None where there was none to read.
        by_hand: what people gave for each cell.
        score: what the gradebook has; None if the student is not in it.
        shown: how much of the grade may be read.
    """

    grade: Grade
    origin: Origin
    page: bytes
    repaired: Callable[[], RepairedNotebook | None]
    by_hand: Mapping[str, HandGrade]
    score: FinalScore | None
    shown: Shown = ALL


@dataclass(frozen=True)
class Packed:
    """What was packed.

    Attributes:
        path: the zip file, or the folder.
        n_students: how many it holds something for.
        notes: who is left out, or cannot be reached, and why.
        kept: what was in the way and is kept, and where.
    """

    path: Path
    n_students: int
    notes: tuple[str, ...]
    kept: tuple[str, ...] = ()


def pack(
    way: str,
    outline: Outline,
    feedback: Sequence[Feedback],
    folder: Path,
    roster: Table | None = None,
) -> Packed:
    """Pack the feedback of a class.

    Args:
        way: one of `WAYS`.
        folder: below which it is written; only what an earlier run packed there is replaced.
        roster: for mail: who has which address.

    Raises:
        GraderError: if nobody of the class can be reached in this way; says why.
    """
    if way == "mail":
        return _for_mail(outline, feedback, folder / f"{outline.name}-mail", roster)
    member, layout = _PLATFORMS[way]
    files: dict[str, bytes] = {}
    notes = []
    for one in feedback:
        member_or_why = _member_or_why(member, outline, one)
        if isinstance(member_or_why, _LeftOut):
            notes.append(f"{one.grade.student} is left out: {member_or_why}")
        elif member_or_why[0] in files:
            notes.append(f"{one.grade.student} is left out: somebody's file has the same name")
        else:
            files[member_or_why[0]] = member_or_why[1]
    if not files:
        raise GraderError(
            f"nothing of {outline.name} came as a {layout.words}, whose names are needed: run "
            f"`grade {outline.name}` once more on what was downloaded (it runs nothing again)"
            + (f"; {notes[0]}" if notes else "")
        )
    path = folder / f"{outline.name}-{way}.zip"
    write_atomically(path, _zip(files))
    return Packed(path, len(files), tuple(notes))


class _LeftOut(str):
    """Why a student cannot be reached."""


def _member_or_why(
    member: Callable[[Outline, Feedback], tuple[str, bytes] | _LeftOut],
    outline: Outline,
    one: Feedback,
) -> tuple[str, bytes] | _LeftOut:
    """Return a student's name in the archive and file, whatever is wrong with those as a reason."""
    try:
        return member(outline, one)
    except Exception as error:
        return _LeftOut(f"the feedback cannot be made: {as_line(describe(error))}")


def _zip(files: Mapping[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, data in sorted(files.items()):
            member = zipfile.ZipInfo(name, _LONG_AGO)
            member.external_attr = 0o644 << 16
            archive.writestr(member, data, zipfile.ZIP_DEFLATED)
    return out.getvalue()


def _refused_name(origin: Origin, layout: Layout) -> str:
    """Say why the names under which a file came cannot be used; students choose parts of them."""
    if origin.layout != layout or not origin.parts:
        return f"it did not come in a {layout.words}"
    name = origin.parts[0]
    if not name.isprintable() or "\\" in name:
        return "a sign in its file's name that could mislead another program"
    return ""


def _canvas(outline: Outline, one: Feedback) -> tuple[str, bytes] | _LeftOut:
    problem = _refused_name(one.origin, Layout.CANVAS)
    name = one.origin.parts[-1] if one.origin.parts else ""
    if not problem and (len(one.origin.parts) > 1 or not name.endswith(".ipynb")):
        problem = f"{name} is no notebook, and Canvas would show the feedback under that name"
    if problem:
        return _LeftOut(problem)
    made = feedback_notebook(outline, one.grade, one.repaired(), one.by_hand, one.shown)
    return name, as_text(made).encode()


def _moodle(outline: Outline, one: Feedback) -> tuple[str, bytes] | _LeftOut:
    problem = _refused_name(one.origin, Layout.MOODLE)
    if problem:
        return _LeftOut(problem)
    # Moodle itself splits at these: name, number, "assignsubmission", "file", the student's name.
    pieces = one.origin.parts[0].split("_", 4)
    if len(pieces) < 4 or not pieces[1].isdecimal():
        return _LeftOut("there is no number in its name by which Moodle could find anybody")
    _, notebook = assignment_and_notebook(outline.name)
    page = f"{notebook}-feedback.html"
    if len(one.origin.parts) > 1:
        return f"{one.origin.parts[0]}/{page}", one.page
    return "_".join([*pieces[:4], page]), one.page


_PLATFORMS: dict[
    str, tuple[Callable[[Outline, Feedback], tuple[str, bytes] | _LeftOut], Layout]
] = {
    "canvas": (_canvas, Layout.CANVAS),
    "moodle": (_moodle, Layout.MOODLE),
}
WAYS = (*_PLATFORMS, "mail")


# ------------------------------------------------------------------ mail
def _for_mail(
    outline: Outline, feedback: Sequence[Feedback], folder: Path, roster: Table | None
) -> Packed:
    scores = {one.grade.student: one.score or _no_score(one.grade) for one in feedback}
    addresses, notes = _addresses(list(scores.values()), roster)
    left = {one.grade.student: one.grade.timing.late_days_left for one in feedback}
    has_late_days = any(n is not None for n in left.values())
    rows: list[Sequence[object]] = []
    moved = _move_old_list(folder)
    list_ = OwnFiles(folder, ["mail.csv"], "")
    kept: list[Path | None] = []
    for one in feedback:
        student, score = one.grade.student, scores[one.grade.student]
        page = f"pages/{file_name(student)}.html"
        try:
            kept.append(keep_changed(folder / page, one.page))
            write_if_new(folder / page, one.page)
        except OSError as error:
            if error.errno not in (errno.EISDIR, errno.EACCES, errno.ENAMETOOLONG):
                raise  # nobody's can be written
            notes.append(f"{student} is left out: {as_line(describe(error))}")
            continue
        has_points = one.score and score.is_graded and one.shown.has_points
        points = points_text(score.points) if has_points else ""
        most = points_text(outline.points)
        more = (one.grade.timing.late_days, left[student]) if has_late_days else ()
        said = total_text(score) if points else ""
        person = (student, addresses.get(student, ""))
        rows.append((*person, outline.title, points, most, said, page, *more))
    header = ["student", "email", "problem_set", "points", "max_points", "total", "attachment"]
    header += ["late_days", "late_days_left"] if has_late_days else []
    list_.write("mail.csv", write_table([header, *rows]).encode())
    without = [student for student in scores if not addresses.get(student)]
    if without:
        names = ", ".join(without[:20]) + " ..." * (len(without) > 20)
        notes.append(f"{len(without)} without an address (--roster has them?): {names}")
    return Packed(folder, len(rows), tuple(notes), (*moved, *said_of_kept(kept)))


def _move_old_list(folder: Path) -> list[str]:
    """Move the list aside where no version has noted what it wrote; return what to say of it."""
    path = folder / "mail.csv"
    if (folder / OWN_FILES).exists() or not path.is_file():
        return []
    kept = keep_beside(path, path.read_bytes())
    path.unlink()
    return [f"the list of an older version, into which somebody may have written, is now {kept}"]


def _no_score(grade: Grade) -> FinalScore:
    return FinalScore(grade.student, 0.0, grade.max_points)


def _addresses(
    scores: Sequence[FinalScore], roster: Table | None
) -> tuple[dict[str, str], list[str]]:
    """Return addresses by student, from the roster before the gradebook; and who is not in it."""
    addresses = {
        score.student: score.email or (score.student if "@" in score.student else "")
        for score in scores
    }
    if roster is None:
        return addresses, []
    people = [_person(roster, cells, row) for row, cells in enumerate(roster.rows)]
    matched = match(scores, people, roster.name)
    for row, score in matched.rows.items():
        address = next(_cells(roster, roster.rows[row], _ADDRESSES, "@"), "")
        addresses[score.student] = address or addresses[score.student]
    unknown = {score.student for score in scores} - {s.student for s in matched.rows.values()}
    return addresses, [f"{student} is not in {roster.name}" for student in sorted(unknown)]


def _person(roster: Table, cells: Sequence[str], row: int) -> Person:
    ids = frozenset(map(same_id, _cells(roster, cells, _IDS))) - {"", "-"}
    number = next(_cells(roster, cells, ("Identifier", "ID")), "").rpartition(" ")[2]
    names = (" ".join(_cells(roster, cells, columns)) for columns in _NAMES)
    return Person(row, next((name for name in names if name), ""), ids, number)


def _cells(
    roster: Table, cells: Sequence[str], columns: Sequence[str], holding: str = ""
) -> Iterator[str]:
    """Yield a row's cells in those of these columns that the roster has."""
    for name in columns:
        column = roster.find(name)
        if column is not None and holding in cells[column]:
            yield cells[column].strip()
