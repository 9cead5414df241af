"""Recognise how a delivery is laid out, and whose each of its files is; by names alone.

Learning platforms write who handed in into the names of files and folders:

    plain     ada.ipynb   ada/anything.ipynb
    nbgrader  ada/ps1/ps1.ipynb                                        its folder submitted/
    exchange  ada+ps1+2026-02-03 16:00:00.000000 UTC+x3J9.../ps1.ipynb  its exchange's inbound/
    canvas    lovelaceada_LATE_12345_67890_ps1.ipynb
    moodle    Ada Lovelace_12345_assignsubmission_file/ps1.ipynb   older ones with an underscore
              more; also as one flat folder; what was typed in lies beside it as onlinetext; of
              teams, the name of the team, and "Default group" without a number

Students choose parts of these names, so a layout is recognised by most of the names, never by one,
and a name that does not fit stands for a student of that name: nobody is lost.
"""

import hashlib
import re
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, tzinfo
from enum import StrEnum
from pathlib import PurePath

from autograder.intake.archives import WRAPPERS, Delivered
from autograder.intake.identity import name_and_number, without_digest
from autograder.intake.times import read_clock, read_time, unreadable
from autograder.records import NothingHandedIn
from autograder.untrusted import REORDERING, without_stacks

_MAX_NAME_BYTES = 120
_BREAKING = {"Cc", "Cs", "Zl", "Zp"}  # what could end a row or command a terminal
# By which one name would look like another: what is not seen, but for two signs that join or part
# the letters of some scripts, where such a letter stands before them.
_UNSEEN = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u2060-\u206f"
    "\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
    "|(?<![\u0600-\u1fff])[\u200c\u200d]"
)
# What nbgrader's pages, which put names into HTML and scripts as they are, would act upon.
MARKUP = frozenset('<>&"\\`')
_REPLACED = MARKUP | frozenset(REORDERING)
_TIME = (
    r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?"
    r"(?: ?(?:[A-Za-z]{1,6}|[+-]\d\d(?::?\d\d)?))?"
)
_EXCHANGE = re.compile(rf"(?P<student>.+)\+(?P<set>[^+]+)\+(?P<time>{_TIME})(?:\+[\w-]+)?", re.S)
_CANVAS = re.compile(
    r"(?:(?P<name>(?!LATE_).*?)_)?(?P<late>LATE_)?(?P<number>\d+|anon_[A-Za-z0-9]+)"
    r"_(?:\d+_(?P<file>.+)|(?:text|link)\.html)",
    re.S,
)
_MOODLE = re.compile(
    r"(?P<name>[^_]+)(?:_(?P<number>\d+))?_assignsubmission_(?:file|onlinetext)_?(?P<file>.*)",
    re.S,
)


class Layout(StrEnum):
    """How a delivery names students and files."""

    PLAIN = "plain"
    NBGRADER = "nbgrader"
    EXCHANGE = "exchange"
    CANVAS = "canvas"
    MOODLE = "moodle"

    @property
    def words(self) -> str:
        """The layout as people call it."""
        return _WORDS[self]


_WORDS = {
    Layout.PLAIN: "a notebook or a folder for each student",
    Layout.NBGRADER: "nbgrader's folder submitted/",
    Layout.EXCHANGE: "nbgrader's exchange, its folder inbound/",
    Layout.CANVAS: "Canvas archive",
    Layout.MOODLE: "Moodle archive",
}


@dataclass
class Handed:
    """What one student handed in.

    Attributes:
        files: each with the name that the student gave it.
        reasons: what was noticed about the names.
        time_source: where `submitted_at` was read, in words.
        time_note: what is to be said where a time stood that could not be read.
        marked_late: whether the platform calls it late; None where it marks nobody.
    """

    files: list[tuple[str, Delivered]] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    submitted_at: datetime | None = None
    time_source: str = ""
    time_note: str = ""
    marked_late: bool | None = None


def unwrapped(entries: Sequence[Delivered], from_zip: bool) -> tuple[Delivered, ...]:
    """Step into the folder that only wraps a delivery.

    That is `submitted/` or `inbound/` of a course, or a zip file's only folder if it holds more
    than one notebook.
    """
    roots = {entry.parts[0] for entry in entries}
    wrappers: list[str] = [name for name in WRAPPERS if name in roots]
    if not wrappers and from_zip and len(roots) == 1:
        notebooks = [entry for entry in entries if entry.name.endswith(".ipynb")]
        wrappers = list(roots) if len(notebooks) > 1 else []
    for wrapper in wrappers:
        inside = [entry for entry in entries if entry.parts[0] == wrapper]
        if any(entry.is_folder or len(entry.parts) > 1 for entry in inside):
            return tuple(
                replace(entry, parts=entry.parts[1:]) for entry in inside if len(entry.parts) > 1
            )
    return tuple(entries)


def recognise(entries: Sequence[Delivered], problem_set: str) -> Layout:
    """Say which layout most of the outermost names have."""
    # A zip file may list what is in a folder without the folder.
    folders = {entry.parts[0] for entry in entries if entry.is_folder or len(entry.parts) > 1}
    files = {entry.parts[0] for entry in entries} - folders
    enough = (len(folders) + len(files)) / 2
    if _n_matches(_EXCHANGE, folders) >= enough:
        return Layout.EXCHANGE
    if _n_matches(_MOODLE, folders | files) >= enough:
        return Layout.MOODLE
    if _n_matches(_CANVAS, files) >= enough:
        matches = [match for match in map(_CANVAS.fullmatch, files) if match]
        people = {(match["name"], match["number"]) for match in matches}
        # Files such as ada_2026_01_ps1.ipynb: the same number for everybody is no one's number.
        if 2 * len({number for _, number in people}) > len(people) or len(people) == 1:
            return Layout.CANVAS
    named = (
        entry.parts[1:2] == (problem_set,) and (entry.is_folder or len(entry.parts) > 2)
        for entry in entries
    )
    return Layout.NBGRADER if any(named) else Layout.PLAIN


def by_student(
    entries: Sequence[Delivered], layout: Layout, problem_set: str, zones: Sequence[tzinfo] = (UTC,)
) -> tuple[dict[str, Handed], tuple[str, ...]]:
    """Sort a delivery by student; also return remarks about the whole of it.

    Args:
        zones: as `autograder.intake.times.read_time` takes them.

    Raises:
        NothingHandedIn: if all of it belongs to other problem sets.
    """
    if layout is Layout.EXCHANGE:
        return _from_exchange(entries, problem_set, zones)
    pattern = {Layout.CANVAS: _CANVAS, Layout.MOODLE: _MOODLE}.get(layout)
    students: dict[str, Handed] = {}
    for entry in entries:
        match = pattern.fullmatch(entry.parts[0]) if pattern else None
        if match is None:
            _add_plain(students, entry, problem_set, layout)
            continue
        student = student_name("_".join(part for part in (match["name"], match["number"]) if part))
        handed = students.setdefault(student, Handed())
        if not entry.is_folder or entry.refusal:
            own_name = entry.name if len(entry.parts) > 1 else match["file"] or entry.name
            handed.files.append((own_name, entry))
        if layout is Layout.CANVAS:
            handed.marked_late = handed.marked_late or match["late"] is not None
            if re.match(r"\d+_", match["file"] or ""):
                handed.reasons.append(f"{entry.name} was taken for number {match['number']}'s")
    if layout is Layout.CANVAS:
        _note_shared_numbers(students)
        if not any(handed.marked_late for handed in students.values()):
            for handed in students.values():  # perhaps Canvas knows of no due date
                handed.marked_late = None
    return students, ()


def _note_shared_numbers(students: dict[str, Handed]) -> None:
    """Say whose numbers are the same: somebody may have put another's number into a name."""
    named: dict[str, list[str]] = {}
    for student in students:
        named.setdefault(name_and_number(student)[1], []).append(student)
    for number, names in named.items():
        for student in names if len(names) > 1 else ():
            others = ", ".join(name for name in names if name != student)
            students[student].reasons.append(f"the number {number} is also that of {others}")


def student_name(name: str) -> str:
    """Return a name that can be shown, written to a file and told apart from every other.

    Bytes that are no text, line breaks and other control characters, signs that show the rest of a
    line in another order or are not seen at all, accents that pile up over other lines, what is
    markup in a page, a script or Markdown, names too long for a file, and those that lead to
    another folder (".." is left of "...ipynb") are replaced; a digest of the name as it came then
    keeps two students apart.
    """
    readable = unicodedata.normalize("NFC", name)
    try:
        as_it_came = readable.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # half a character, which JSON can spell
        as_it_came = readable.encode("utf-8", "surrogatepass")
    shown = "".join(
        "\ufffd" if char in _REPLACED or unicodedata.category(char) in _BREAKING else char
        for char in _UNSEEN.sub("\ufffd", without_stacks(as_it_came.decode("utf-8", "replace")))
    )
    leads_away = not shown.strip(".") or "/" in shown
    seems_made_here = without_digest(shown) != shown  # another's, perhaps
    is_short = len(as_it_came) <= _MAX_NAME_BYTES
    if shown == readable and is_short and not leads_away and not seems_made_here:
        return readable
    digest = hashlib.sha256(as_it_came).hexdigest()[:8]
    short = shown.replace("/", "\ufffd").encode()[: _MAX_NAME_BYTES - 9].decode(errors="ignore")
    return f"{short}~{digest}"


def _n_matches(pattern: re.Pattern[str], names: Collection[str]) -> int:
    return sum(pattern.fullmatch(name) is not None for name in names)


# ------------------------------------------------------------------ a student's own folder or file
def _add_plain(
    students: dict[str, Handed], entry: Delivered, problem_set: str, layout: Layout
) -> None:
    """Add a file by its outermost name: `<student>.ipynb` or `<student>/...`."""
    student = entry.parts[0]
    is_file = len(entry.parts) == 1 and not entry.is_folder
    if is_file and not student.endswith(".ipynb") and not entry.is_packed:
        return  # a list of grades, a note: nobody's notebook
    handed = students.setdefault(
        student_name(PurePath(student).stem if is_file else student), Handed()
    )
    in_other_set = len(entry.parts) > 3 or (len(entry.parts) == 3 and entry.parts[1] != problem_set)
    if not in_other_set and (not entry.is_folder or entry.refusal):
        handed.files.append((entry.name, entry))
    if layout not in (Layout.PLAIN, Layout.NBGRADER) and len(entry.parts) == 1:
        handed.reasons.append(f"the name {entry.name} does not fit: {layout.words}")


# ------------------------------------------------------------------ nbgrader's exchange
def _strangers(entries: Iterable[Delivered]) -> dict[str, str]:
    """Return the folders of an exchange that belong to another account than their name says.

    nbgrader compares the same two, and warns. Where no folder belongs to whom it names, this is a
    copy, or all students share one account: then owners say nothing, and none is returned.
    """
    owners = {one.parts[0]: one.owner for one in entries if len(one.parts) == 1 and one.owner}
    named = {name: match["student"] for name in owners if (match := _EXCHANGE.fullmatch(name))}
    others = {name: owners[name] for name, student in named.items() if owners[name] != student}
    return others if len(others) < len(named) else {}


def _from_exchange(
    entries: Sequence[Delivered], problem_set: str, zones: Sequence[tzinfo]
) -> tuple[dict[str, Handed], tuple[str, ...]]:
    submissions: dict[str, dict[tuple[bool, datetime, str], Handed]] = {}
    students: dict[str, Handed] = {}
    other_sets: set[str] = set()
    strangers = _strangers(entries)
    for entry in entries:
        match = _EXCHANGE.fullmatch(entry.parts[0])
        clock = read_clock(match["time"]) if match else None
        if match is None or clock is None:
            _add_plain(students, entry, problem_set, Layout.EXCHANGE)
        elif match["set"] != problem_set:
            other_sets.add(match["set"])
        else:
            time = read_time(match["time"], zones)
            mine = submissions.setdefault(student_name(match["student"]), {})
            # Of a zone that is not known, what the clock showed is the best order there is.
            moment = time or clock.replace(tzinfo=UTC)
            is_own = entry.parts[0] not in strangers
            handed = mine.setdefault((is_own, moment, entry.parts[0]), Handed())
            handed.submitted_at = time
            handed.time_source = "nbgrader's exchange" if time else ""
            handed.time_note = "" if time else unreadable("its folder's name", match["time"])
            if not entry.is_folder or entry.refusal:
                handed.files.append((entry.name, entry))
    if not submissions and other_sets:
        known = ", ".join(sorted(other_sets))
        raise NothingHandedIn(f"no submission of {problem_set} in this exchange; it has: {known}")
    earlier = []
    for student, mine in submissions.items():
        chosen = max(mine)
        students[student] = mine[chosen]
        students[student].reasons += [
            f"the folder {name} belongs to the account {strangers[name]}, not to this student; it "
            + ("was graded, for there is no other" if name == chosen[-1] else "was not graded")
            for is_own, _, name in sorted(mine)
            if not is_own
        ]
        if n_before := sum(key[0] is chosen[0] for key in mine) - 1:
            earlier.append(n_before)
    if not earlier:
        return students, ()
    again = f"{len(earlier)} student{'s' * (len(earlier) > 1)} handed in again"
    passed_over = f"{sum(earlier)} earlier submission{'s were' if sum(earlier) > 1 else ' was'}"
    return students, (f"{again}; {passed_over} not graded",)
