"""Find in files what a course keeps from its students: solutions, checks, hints, exam answers.

Every text is taken as its words alone, so that markup, quotes, line breaks and escapes make no
difference: the source of a page, the page, a notebook and an archive of them read the same. A
secret is a run of words; what stands in a released notebook is none.
"""

import contextlib
import html
import io
import json
import re
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath

from autograder.authoring.lint import secret_lines
from autograder.authoring.release import ReleasedSet
from autograder.handed_out import FOLDER

SOLUTION, CHECK, MISTAKE, EXAM = "solution", "check", "mistake", "exam"

# Words in a row that nobody else would write: more of prose, since the book has its phrases.
_RUN = {SOLUTION: 8, CHECK: 8, MISTAKE: 12, EXAM: 12}
_SHORTEST = 5  # words of a hint that is shorter than a run
_LEAST_LETTERS = 24
_LEAST_UNLIKE = 5
_WORD = re.compile(r"[^\W_]+")
_TAG = re.compile(r"<[^<>]*>")
_IMPORT = re.compile(r"^(?:from [\w.]+ )?import (?:\([^()]*\)|[^\n(]*)$", re.MULTILINE)
_ARCHIVES = (".zip", ".whl", ".epub")
_DEEPEST = 4  # archives within each other

Words = tuple[str, ...]


@dataclass(frozen=True)
class Finding:
    """A secret that stands in a file.

    Attributes:
        kind: "solution", "check", "mistake" or "exam".
        origin: the item or file that it comes from.
        place: the file, and within an archive the path there.
        text: the words.
    """

    kind: str
    origin: str
    place: str
    text: str


class Secrets:
    """What the sets of a course keep to themselves.

    Args:
        sets: as they are released.
        texts: other texts that students must not have, by name: exam questions with answers.
    """

    def __init__(self, sets: Iterable[ReleasedSet], texts: Mapping[str, str]) -> None:
        self._runs: dict[Words, tuple[str, str]] = {}
        public: set[Words] = set()
        for name, text in texts.items():
            self._add(EXAM, name, text)
        for released in sets:
            self._add_set(released)
            text = "\n".join(cell.source for cell in released.notebooks.student.cells)
            # A notebook's file spells the end of a line as \\n, and so does code within a check.
            as_file = "\n".join(map(json.dumps, text.splitlines(keepends=True)))
            imports = map(words_of, _imports_of(released))
            for words in (words_of(text), words_of(as_file), *imports):
                public.update(_runs(words, range(_SHORTEST, max(_RUN.values()) + 1)))
        for run in public & self._runs.keys():
            del self._runs[run]

    def find(self, place: str, data: bytes) -> list[Finding]:
        """Return the secrets in a file, each run of words once; archives are looked into."""
        findings: dict[Words, Finding] = {}
        for inner, text in readable(place, data):
            words = words_of(text)
            for run in _runs(words, self._lengths):
                if run in self._runs and run not in findings:
                    kind, origin = self._runs[run]
                    findings[run] = Finding(kind, origin, inner, " ".join(run))
        return list(findings.values())

    def __len__(self) -> int:
        return len(self._runs)

    @cached_property
    def _lengths(self) -> tuple[int, ...]:
        return tuple(sorted({len(run) for run in self._runs}))

    def _add_set(self, released: ReleasedSet) -> None:
        for path in released.course.check_files(released.name):
            self._add(CHECK, path.name, path.read_text(encoding="utf-8"))
        for check in released.problem_set.checks:
            for mistake in check.mistakes:
                self._add(MISTAKE, check.item, mistake.name)
                self._add(MISTAKE, check.item, mistake.hint)
        for cell in released.notebooks.source.cells:
            self._add(SOLUTION, cell.id, "\n".join(secret_lines(cell.source)))

    def _add(self, kind: str, origin: str, text: str) -> None:
        words = words_of(text)
        for run in _runs(words, [min(_RUN[kind], max(_SHORTEST, len(words)))]):
            self._runs[run] = (kind, origin)


def _imports_of(released: ReleasedSet) -> Iterator[str]:
    """Yield what opens each file of a set's checks: others import the same in the same order."""
    for path in released.course.check_files(released.name):
        yield "\n".join(match[0] for match in _IMPORT.finditer(path.read_text(encoding="utf-8")))


def given_away(released: ReleasedSet) -> tuple[str, ...]:
    """Say which files that are handed out with a set hold a solution, a check or a mistake."""
    if not released.files:
        return ()
    secrets = Secrets([released], {})
    found = [one for name, data in released.files.items() for one in secrets.find(name, data)]
    return tuple(
        f"{FOLDER}/{one.place} gives away a {one.kind} of {one.origin}: {one.text}" for one in found
    )


def words_of(text: str) -> list[str]:
    """Return the words of a text in small letters."""
    return _WORD.findall(text.casefold())


def readable(place: str, data: bytes, depth: int = 0) -> Iterator[tuple[str, str]]:
    """Yield each text in a file, with its place: what a reader of that kind of file would see."""
    kind = PurePosixPath(place).suffix.lower()
    if kind in _ARCHIVES and depth < _DEEPEST:
        inner = list(_unpacked(data))
        for name, packed in inner:
            yield from readable(f"{place}/{name}", packed, depth + 1)
        if inner:
            return
    text = data.decode("utf-8", errors="replace")
    yield place, text
    if kind in (".html", ".xhtml", ".svg", ".xml"):
        yield place, html.unescape(_TAG.sub("", text))
    elif kind in (".ipynb", ".json"):
        try:
            yield place, "\n".join(_strings(json.loads(text)))
        except (ValueError, RecursionError):
            return


def _unpacked(data: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield what can be read of an archive: nothing if it is none, or is locked by a password."""
    with contextlib.suppress(zipfile.BadZipFile), zipfile.ZipFile(io.BytesIO(data)) as archive:
        for name in archive.namelist():
            # A damaged file, another method, a password.
            with contextlib.suppress(zipfile.BadZipFile, zlib.error, EOFError, RuntimeError):
                yield name, archive.read(name)


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _strings(inner)


def _runs(words: list[str], lengths: Iterable[int]) -> Iterator[Words]:
    """Yield each run of so many words that is more than a phrase of the language."""
    for length in lengths:
        for start in range(len(words) - length + 1):
            run = tuple(words[start : start + length])
            if sum(map(len, run)) >= _LEAST_LETTERS and len(set(run)) >= _LEAST_UNLIKE:
                yield run
