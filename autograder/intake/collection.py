"""Find the notebooks of a class: every student exactly once, in whichever layout they came."""

import contextlib
import hashlib
import json
import re
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any

from autograder.authoring.fingerprints import is_as_released
from autograder.authoring.fingerprints import read_notebook as read_cells
from autograder.authoring.notebooks import assignment_and_notebook, is_answer
from autograder.inside.probe import describe
from autograder.intake.archives import Delivered, contents
from autograder.intake.layouts import Handed, Layout, by_student, recognise, unwrapped
from autograder.intake.times import read_time, unreadable
from autograder.records import GraderError, NothingHandedIn, Origin, SubmissionRefused
from autograder.untrusted import as_line

MAX_NOTEBOOK_BYTES = 16 << 20
MAX_CONTAINERS = 200_000
_MAX_BYTES_WITH_OUTPUTS = 64 << 20
_SHRINK = (
    "look for a cell that holds data or a pasted picture, take that out, save, and hand it in again"
)
AGAIN = (
    "open it in Jupyter; if you see your answers there, save it and hand it in again, and if not, "
    'look for an earlier state of it ("Revert Notebook to Checkpoint" in the menu File)'
)
"""What to do about a file that is no notebook any more."""
_MOST_COPIES = _MOST_NAMED = 10
_MOST_REASONS = 20
_KNOWN: dict[bytes, bool] = {}
_MOST_KNOWN = 10_000
_COPY = r"( ?\(\d{1,3}\)|-Copy\d{1,3})?"  # as browsers and Jupyter number copies
_TIME_FILE = "timestamp.txt"
_A_COPY = timedelta(hours=1)
_MAX_TIME_BYTES = 100
_SECRET_FILE = "submission_secret.txt"
_MAX_SECRET_BYTES = 256
_SECRET = re.compile(r"[\x21-\x7e]{16,}")  # nbgrader makes one of 128 characters


@dataclass(frozen=True)
class Collected:
    """Where one student's notebook lies.

    Attributes:
        path: the file, or None where there is none to read; `reasons` then says why. In a zip file,
            the archive's path and the file's own after it.
        submitted_at: when it was handed in, with its time zone; None where the layout does not say.
        time_source: where `submitted_at` was read, in words; empty if it is None.
        time_note: what is to be said where a time stood that could not be read.
        is_time_given: `submitted_at` comes from a file of times, not from the delivery.
        marked_late: whether the learning platform itself calls it late, without saying since when;
            None where it marks nobody.
        arrived_at: when the exchange's file system received it, where that can be told.
        origin: by which names it came.
        delivered: what `read_notebook` reads.
    """

    student: str
    path: Path | None
    reasons: tuple[str, ...] = ()
    submitted_at: datetime | None = None
    time_source: str = ""
    time_note: str = ""
    is_time_given: bool = False
    marked_late: bool | None = None
    arrived_at: datetime | None = None
    origin: Origin = field(default_factory=Origin)
    delivered: Delivered | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True)
class Delivery:
    """All that was handed in for one problem set.

    Attributes:
        submissions: one for each student, in order of their names.
        remarks: what was noticed about the whole.
    """

    layout: Layout
    submissions: tuple[Collected, ...]
    remarks: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[Collected]:
        return iter(self.submissions)


def collect(
    place: Path,
    problem_set: str,
    layout: Layout | None = None,
    zones: Sequence[tzinfo] = (UTC,),
    others_files: Container[str] = (),
) -> Delivery:
    """Find each student's notebook, every student exactly once.

    Args:
        place: a folder or a zip file.
        layout: how it names students; recognised by its names if None.
        zones: as `autograder.intake.times.read_time` takes them.
        others_files: names of notebooks that are others of the same assignment.

    Raises:
        GraderError: if it does not exist, cannot be read or holds nothing of the kind.
    """
    entries = unwrapped(contents(place), from_zip=place.is_file())
    assignment, _ = assignment_and_notebook(problem_set)
    layout = layout or recognise(entries, assignment)
    students, remarks = by_student(entries, layout, assignment, zones)
    if not students:
        raise NothingHandedIn(f"no submissions in {place}: neither <student>.ipynb nor folders")
    chosen = tuple(
        _choose_or_say(student, students[student], problem_set, layout, zones, others_files)
        for student in sorted(students)
    )
    if layout is Layout.EXCHANGE:
        chosen, more = _with_arrivals(chosen)
        remarks += more
    return Delivery(layout, chosen, remarks)


def _with_arrivals(
    submissions: tuple[Collected, ...],
) -> tuple[tuple[Collected, ...], tuple[str, ...]]:
    """Add when each file arrived in the exchange; not if this is a copy of the exchange."""
    arrivals = {
        one.student: datetime.fromtimestamp(one.delivered.arrived_at, UTC)
        for one in submissions
        if one.submitted_at and one.delivered and one.delivered.arrived_at is not None
    }
    apart = [
        arrivals[one.student] - one.submitted_at
        for one in submissions
        if one.submitted_at and one.student in arrivals
    ]
    if sum(gap > _A_COPY for gap in apart) * 2 > len(apart):
        return submissions, (
            "most files came here over an hour after the time in their folder's name, as in a copy "
            "of the exchange: when they were handed in, only the students' own accounts say",
        )
    return tuple(replace(one, arrived_at=arrivals.get(one.student)) for one in submissions), ()


def read_notebook(collected: Collected) -> bytes:
    """Read a found notebook's bytes; of one that is too large for its outputs, all but those.

    Raises:
        SubmissionRefused: if there is none, or it is no plain file, or too large.
    """
    if collected.delivered is None:
        raise SubmissionRefused("; ".join(collected.reasons))
    try:
        data = collected.delivered.read(max(_MAX_BYTES_WITH_OUTPUTS, MAX_NOTEBOOK_BYTES))
    except GraderError as error:
        raise SubmissionRefused(str(error)) from None
    if len(data) <= MAX_NOTEBOOK_BYTES:
        return data
    smaller = _without_outputs(data)
    if len(smaller) > MAX_NOTEBOOK_BYTES:
        raise SubmissionRefused(
            f"{collected.delivered.name} has {len(data)} bytes; at most {MAX_NOTEBOOK_BYTES} are "
            f"read, outputs not counted: {_SHRINK}"
        )
    return smaller


def first_few(reasons: Iterable[str]) -> list[str]:
    """Return as many reasons as anybody reads: cells, files and folders make thousands."""
    once = list(dict.fromkeys(reasons))
    more = len(once) - _MOST_REASONS
    return [*once[:_MOST_REASONS], f"{more} more like these"] if more > 1 else once


def is_too_intricate(data: bytes) -> bool:
    """Whether a file holds more lists and dicts than may be built of it."""
    return data.count(b"[") + data.count(b"{") > MAX_CONTAINERS


def _without_outputs(data: bytes) -> bytes:
    """Return a notebook without what its cells have shown; anything else as it is."""
    if is_too_intricate(data):
        return data
    try:
        notebook = json.loads(data)
        for cell in notebook["cells"]:
            if cell.get("outputs"):
                cell["outputs"] = []
        return json.dumps(notebook, indent=1).encode()
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return data


def _choose_or_say(student: str, handed: Handed, *rest: Any) -> Collected:
    """Do what `choose` does; whatever goes wrong with one student's files is said of that one."""
    try:
        return choose(student, handed, *rest)
    except Exception as error:
        what = f"what was handed in could not be looked at: {as_line(describe(error))}"
        return Collected(student, None, (what,))


def choose(
    student: str,
    handed: Handed,
    problem_set: str,
    layout: Layout,
    zones: Sequence[tzinfo] = (UTC,),
    others_files: Container[str] = (),
) -> Collected:
    """Pick the notebook among a student's files: one that can be read, named for the set."""
    assignment, notebook = assignment_and_notebook(problem_set)
    own = r".*" if notebook == assignment else re.escape(notebook) + _COPY
    notebooks = [
        (name, file)
        for name, file in handed.files
        if re.fullmatch(rf"{own}\.ipynb", name, re.DOTALL) and name not in others_files
    ]
    if layout in (Layout.PLAIN, Layout.NBGRADER):
        of_set = [(name, file) for name, file in notebooks if len(file.parts) == 3]
        notebooks = [
            *of_set,
            *((n, f) for n, f in notebooks if len(f.parts) < (2 if of_set else 3)),
        ]
    usable = notebooks or [(name, file) for name, file in handed.files if file.refusal]
    if not usable:
        others = [file.parts for _, file in handed.files]
        origin = Origin(layout, min(others, default=()), _secret(handed.files))
        reasons = [
            f"{_nothing(handed, notebook)}; hand in {notebook}.ipynb itself",
            *first_few(handed.reasons),
        ]
        return Collected(student, None, tuple(reasons), origin=origin)
    blank = _left_blank(usable, notebook)
    name, chosen = min(usable, key=lambda pair: _rank(pair[0], pair[1], notebook, blank))
    reasons = first_few(handed.reasons)
    if len(usable) > 1 and not chosen.refusal:
        names = ", ".join(sorted(other for other, _ in usable)[:_MOST_NAMED])
        names += ", ..." * (len(usable) > _MOST_NAMED)
        own, words = f"{notebook}.ipynb", f"{len(usable)} notebooks ({names}); {name} was graded"
        if own != name and own in blank.values():
            words += f", as nothing is written in {own}"
        reasons.insert(0, words)
    submitted_at, source, note = handed.submitted_at, handed.time_source, handed.time_note
    if submitted_at is None and not note:
        submitted_at, source, note = _written_time(handed.files, zones)
    return Collected(
        student,
        chosen.path,
        tuple(dict.fromkeys(reasons)),
        submitted_at,
        source,
        note,
        marked_late=handed.marked_late,
        origin=Origin(layout, chosen.parts, _secret(handed.files)),
        delivered=chosen,
    )


def _is_copy(name: str, notebook: str) -> bool:
    """Whether a name is the set's, as browsers and platforms number copies: ps1 (1), ps1-2."""
    stem = name.removesuffix(".ipynb")
    return stem.startswith(notebook) and not stem[len(notebook) :][:1].isalnum()


def _left_blank(usable: Sequence[tuple[str, Delivered]], notebook: str) -> dict[Delivered, str]:
    """Return which of a notebook's copies hold no answer, where there are several."""
    copies = [(name, file) for name, file in usable if _is_copy(name, notebook)]
    blank = {}
    for name, file in copies[:_MOST_COPIES] if len(copies) > 1 else ():
        with contextlib.suppress(GraderError):
            if _is_blank(file.read(MAX_NOTEBOOK_BYTES)):
                blank[file] = name
    return blank


def _is_blank(data: bytes) -> bool:
    """Whether a notebook holds no answer; known once it was asked: `--watch` does each second."""
    digest = hashlib.sha256(data).digest()
    if digest not in _KNOWN:
        if len(_KNOWN) == _MOST_KNOWN:
            _KNOWN.clear()
        _KNOWN[digest] = not is_too_intricate(data) and not _has_answers(data)
    return _KNOWN[digest]


def _has_answers(data: bytes) -> bool:
    """Whether somebody has changed a cell for answers, in whichever release."""
    try:
        cells = read_cells(data)["cells"]
    except (ValueError, RecursionError):
        return bool(data.strip())
    return any(is_answer(cell) and not is_as_released(cell) for cell in cells)


def _rank(
    name: str, file: Delivered, notebook: str, blank: Container[Delivered]
) -> tuple[object, ...]:
    stem = name.removesuffix(".ipynb")
    likeness = (not _is_copy(name, notebook), file in blank, stem != notebook)
    return bool(file.refusal), *likeness, not stem.startswith(notebook), name, file.parts


def _nothing(handed: Handed, notebook: str) -> str:
    named = sorted(name for name, _ in handed.files)
    others = sorted(named, key=lambda name: not name.startswith(notebook))[:3]
    words = "the folder holds no notebook of this set"
    if any(file.is_packed for _, file in handed.files):
        words = "an archive was handed in, which is not opened, and no notebook of this set"
    return f"{words}, only {', '.join(others)}" if others else words


def _written_time(
    files: Sequence[tuple[str, Delivered]], zones: Sequence[tzinfo]
) -> tuple[datetime | None, str, str]:
    """Read the time that nbgrader writes beside a notebook; also its source, or what is wrong."""
    note = ""
    for name, file in files:
        if name != _TIME_FILE or file.refusal or len(file.parts) != 3:
            continue
        try:
            text = file.read(_MAX_TIME_BYTES).decode("utf-8", "replace")
        except GraderError:
            continue
        time = read_time(text, zones)
        if time is not None:
            return time, _TIME_FILE, ""
        note = unreadable(_TIME_FILE, text)
    return None, "", note


def _secret(files: Sequence[tuple[str, Delivered]]) -> str:
    """Read the secret under which nbgrader's exchange publishes feedback; empty if there is none.

    The student's account has written it, so it is taken only if nbgrader can read it, too, and it
    is too long to be guessed.
    """
    for name, file in files:
        if name == _SECRET_FILE and not file.refusal:
            with contextlib.suppress(GraderError, UnicodeError):
                text = file.read(_MAX_SECRET_BYTES).decode("ascii")
                return text if _SECRET.fullmatch(text) else ""
    return ""
