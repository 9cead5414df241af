"""Results on disk: each is whole or absent, and says what it was made from.

A record holds a grade and the key of everything that decided it: the submission's bytes, the
checks, the reference versions, the grader and its limits. A run skips every student whose record
bears the same key, so resuming a broken run and grading anew after a change are the same thing.
"""

import contextlib
import dataclasses
import fcntl
import hashlib
import json
import os
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from autograder.files import write_atomically
from autograder.records import (
    CellResult,
    Grade,
    GraderError,
    Misconception,
    PartVerdict,
    State,
    Submission,
    Verdict,
)


@dataclass(frozen=True)
class Record:
    """A grade and the key of what it was made from."""

    key: str
    grade: Grade


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
            return Record(loaded["key"], grade_from_plain(loaded["grade"]))
        except (OSError, ValueError, KeyError, TypeError):
            return None  # absent, or of another version of the grader: graded anew

    def write(self, record: Record) -> None:
        """Write a record in place of the student's former one."""
        plain = {"key": record.key, "grade": dataclasses.asdict(record.grade)}
        text = json.dumps(plain, ensure_ascii=True, indent=1)
        write_atomically(self._record(record.grade.student), text.encode())

    def students(self) -> tuple[str, ...]:
        """Students who have a record."""
        names = []
        for path in (self.folder / "records" / self.problem_set).glob("*.json"):
            with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
                names.append(json.loads(path.read_text())["grade"]["student"])
        return tuple(sorted(names))

    def salt(self) -> str:
        """Return the secret from which students' seeds are made; made when first asked for.

        It is stored, so the same submission is asked the same questions in every run.
        """
        path = self.folder / "records" / "salt"
        if not path.exists():
            write_atomically(path, secrets.token_hex(16).encode())
        return path.read_text()

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
        }
    )


def _verdict_from_plain(plain: dict[str, Any]) -> Verdict:
    found = plain["misconception"]
    return Verdict(
        **plain
        | {
            "parts": tuple(PartVerdict(**part) for part in plain["parts"]),
            "misconception": None if found is None else Misconception(**found),
        }
    )
