"""Results on disk: each is whole or absent, and says what it was made from.

A record holds a grade and the key of everything that decided it: the submission's bytes, the
checks, the reference versions, the grader and its limits. A run skips every student whose record
bears the same key, so resuming a broken run and grading anew after a change are the same thing.
Beside the key stands what it was made from, piece by piece, so that a changed grade has a reason.
"""

import contextlib
import dataclasses
import hashlib
import json
import os
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from autograder.files import write_atomically, write_if_new
from autograder.records import (
    Attempts,
    CellResult,
    Difference,
    Grade,
    GraderError,
    Misconception,
    Origin,
    PartVerdict,
    State,
    Submission,
    Timing,
    Verdict,
)

with contextlib.suppress(ImportError):  # not on Windows, where nobody's class is graded
    import fcntl

_DAMAGED = (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError)
"""What reading a record raises that is absent, cut off or of another form."""


@dataclass(frozen=True)
class Record:
    """A grade and the key of what it was made from.

    Attributes:
        made_from: name and digest (or words) of each thing that decided the grade.
        origin: where the submission came from.
        penalties: all that was ever taken off for being late. One of them may stand in the
            gradebook, where a run was killed before it wrote there.
    """

    key: str
    grade: Grade
    made_from: Mapping[str, str] = field(default_factory=dict)
    penalties: tuple[float, ...] = ()
    origin: Origin = field(default_factory=Origin)


class Journal:
    """The records of one problem set, one file a student, and copies of what was received."""

    def __init__(self, folder: Path, problem_set: str) -> None:
        self.folder = folder
        self.problem_set = problem_set

    def keep(self, data: bytes) -> str:
        """Copy a submission's bytes, named for their content, and return their SHA-256."""
        digest = hashlib.sha256(data).hexdigest()
        path = self._received(digest)
        if not path.exists():
            write_atomically(path, data)
        return digest

    def submission(self, student: str, digest: str) -> Submission:
        """Return a kept submission.

        Raises:
            GraderError: if the copy is gone or was changed.
        """
        try:
            data = self._received(digest).read_bytes()
        except OSError as error:
            raise GraderError(f"the copy of {student}'s notebook is gone: {error}") from None
        if hashlib.sha256(data).hexdigest() != digest:
            raise GraderError(f"the copy of {student}'s notebook was changed: {digest}")
        return Submission(student, self.problem_set, data, digest)

    def read(self, student: str) -> Record | None:
        """Return a student's record, or None if there is none that can be read."""
        try:
            loaded = json.loads(self._record(student).read_text())
            grade = grade_from_plain(loaded["grade"])
            penalties = tuple(map(float, loaded["penalties"]))
            origin = _origin_from_plain(loaded.get("origin", {}))  # older ones have none
            return Record(loaded["key"], grade, loaded["made_from"], penalties, origin)
        except _DAMAGED:
            return None  # absent, or of another version of the grader: graded anew

    def write(self, record: Record) -> None:
        """Write a record in place of the student's former one."""
        text = json.dumps(dataclasses.asdict(record), ensure_ascii=True, indent=1)
        write_atomically(self._record(record.grade.student), text.encode())

    def students(self) -> tuple[str, ...]:
        """Students who have a record."""
        names = []
        for path in (self.folder / "records" / self.problem_set).glob("*.json"):
            with contextlib.suppress(*_DAMAGED):
                names.append(str(json.loads(path.read_text())["grade"]["student"]))
        return tuple(sorted(names))

    def records(self) -> list[Record]:
        """Return the records that can be read, in the order of the students' names."""
        return [one for one in map(self.read, self.students()) if one is not None]

    def note(self, change: Mapping[str, Any]) -> None:
        """Add a changed grade to the set's history, before the record that it changes is written.

        A run that is killed in between notes the same change again; `changes` lists it once.
        """
        path = self._history()
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(path, "a", encoding="ascii") as file:
            file.write(f"\n{json.dumps(change)}\n")  # on a line of its own after a cut-off one
            file.flush()
            os.fsync(file.fileno())

    def changes(self) -> tuple[dict[str, Any], ...]:
        """Return the noted changes, oldest first; a line that was cut off by a crash is none."""
        changes: list[dict[str, Any]] = []
        last: dict[str, dict[str, Any]] = {}
        with contextlib.suppress(FileNotFoundError):
            for line in self._history().read_text(encoding="ascii").splitlines():
                with contextlib.suppress(ValueError, KeyError, TypeError):
                    change = json.loads(line)
                    content = {key: value for key, value in change.items() if key != "at"}
                    if last.get(change["student"]) != content:
                        changes.append(change)
                    last[change["student"]] = content
        return tuple(changes)

    def mark_outdated(self, is_so: bool = True) -> None:
        """Note on the disk that pages and gradebook do not know these records yet, or know them."""
        if is_so:
            write_if_new(self._outdated(), b"")
        else:
            self._outdated().unlink(missing_ok=True)

    def is_outdated(self) -> bool:
        """Whether pages and gradebook may not know these records yet."""
        return self._outdated().exists()

    def make_salt(self) -> None:
        """Store a secret for this folder, unless there is one."""
        path = self.folder / "records" / "salt"
        if not path.exists():
            write_atomically(path, secrets.token_hex(16).encode())

    def salt(self) -> str:
        """Return the secret from which students' seeds are made; empty before it is stored.

        It is stored, so the same submission is asked the same questions in every run.
        """
        try:
            return (self.folder / "records" / "salt").read_text()
        except FileNotFoundError:
            return ""

    @contextlib.contextmanager
    def only_writer(self) -> Iterator[None]:
        """Hold the lock that keeps two graders from writing into one folder.

        Raises:
            GraderError: if another grader holds it.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        with open(self.folder / ".grading", "w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise GraderError(f"another grader is at work in {self.folder}") from None
            lock.write(str(os.getpid()))
            lock.flush()
            yield

    def _received(self, digest: str) -> Path:
        return self.folder / "received" / f"{digest}.ipynb"

    def _history(self) -> Path:
        return self.folder / "records" / f"{self.problem_set}.changes.jsonl"

    def _outdated(self) -> Path:
        return self.folder / "records" / f"{self.problem_set}.outdated"

    def _record(self, student: str) -> Path:
        return self.folder / "records" / self.problem_set / f"{file_name(student)}.json"


def file_name(student: str) -> str:
    """Return a plain, short file name that stands for this student alone."""
    quoted = quote(student, safe=" @+,=()").replace(".", "%2E")
    if len(quoted) <= 120:
        return quoted
    return f"{quoted[:100]}~{hashlib.sha256(student.encode()).hexdigest()[:16]}"


def grade_from_plain(plain: dict[str, Any]) -> Grade:
    """Rebuild a grade from what `dataclasses.asdict` made of it."""
    return Grade(
        **plain
        | {
            "state": State(plain["state"]),
            "verdicts": tuple(map(_verdict_from_plain, plain["verdicts"])),
            "reasons": tuple(plain["reasons"]),
            "cells": tuple(CellResult(**cell) for cell in plain["cells"]),
            "differences": tuple(map(_difference_from_plain, plain["differences"])),
            "timing": Timing(**plain["timing"]),
            "attempts": _attempts_from_plain(plain.get("attempts", {})),  # older ones have none
            "unjudged": plain.get("unjudged", {}),  # likewise
        }
    )


def _attempts_from_plain(plain: dict[str, Any]) -> Attempts:
    return Attempts(**plain | {"noticed": tuple(plain.get("noticed", ()))})


def _origin_from_plain(plain: dict[str, Any]) -> Origin:
    return Origin(**plain | {"parts": tuple(plain.get("parts", ()))})


def _difference_from_plain(plain: dict[str, Any]) -> Difference:
    values = {key: plain[key] for key in ("found", "expected")}
    numbers = {key: tuple(value) for key, value in values.items() if isinstance(value, list)}
    return Difference(**plain | numbers)


def _verdict_from_plain(plain: dict[str, Any]) -> Verdict:
    named = {
        key: None if plain.get(key) is None else Misconception(**plain[key])
        for key in ("misconception", "second")
    }
    return Verdict(
        **plain | named | {"parts": tuple(PartVerdict(**part) for part in plain["parts"])}
    )
