"""A student's copies of released notebooks, brought up to date without losing what was written.

    no copy yet        ──► the release, marked with which one it is
    the same release   ──► the copy stays as it is, byte for byte
    a newer release    ──► answers and the student's own cells go over into it;
                           the copy as it was stays beside it, under its date

What a student has changed is known without the release that it once was (`fingerprints`), and a
notebook that came by mail is brought up to date like any other. The standard library is all that
this needs.
"""

import argparse
import contextlib
import datetime
import hashlib
import json
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from autograder.authoring.assistant_rules import RULES, bring_rules
from autograder.authoring.fingerprints import (
    Notebook,
    cells_digest,
    content,
    encoded,
    has_work,
    is_as_released,
    read_notebook,
)
from autograder.authoring.newer_release import merge, name_of
from autograder.authoring.notebooks import is_answer
from autograder.files import OwnFiles, refuse_link_to_nowhere, write_atomically
from autograder.handed_out import Files, files_beside
from autograder.records import GraderError

WORK = "work"
"""The workspace's folder, at the top of a course."""

KEPT = "kept"
"""Beside the versions of a release: notebooks of it in which somebody had written."""

# In the copy's metadata: "release", which one it came from; "cells", as they were put there.
_MARK = "autograder"


@dataclass(frozen=True)
class Update:
    """What became of one notebook in a workspace.

    Attributes:
        path: the student's copy.
        kept: where the copy as it was stands now, if it was replaced.
        n_answers: how many changed answers went over into a newer release.
        n_own: how many cells of the student's own did.
        renewed: answers that went over although the release has changed what stood there.
        is_new: whether there was no copy before.
        others: where else answers to this set stand, if it is new.
        problem: why the file that stood there was no notebook; empty if it was one.
    """

    name: str
    path: Path
    kept: Path | None = None
    n_answers: int = 0
    n_own: int = 0
    renewed: tuple[str, ...] = ()
    is_new: bool = False
    is_newer: bool = False
    problem: str = ""
    others: tuple[Path, ...] = ()

    @property
    def line(self) -> str:
        """What happened, in one line; empty if nothing did."""
        if self.is_new:
            line = f"{self.name}: put into {self.path}"
            if self.others:
                line += f"; answers to it are in {', '.join(map(str, self.others))}"
            return line
        beside = f"as it was, the notebook is kept as {self.kept.name}" if self.kept else ""
        if self.problem:
            return f"{self.name}: {self.problem}; {beside}, and the released one is in its place"
        if not self.is_newer:
            return ""
        if not self.kept:
            return f"{self.name}: a newer release took the place of one without answers"
        over = f"{_counted(self.n_answers, 'answer')} and {_counted(self.n_own, 'cell')} of yours"
        line = f"{self.name}: a newer release came in, and {over} went over; {beside}"
        line += "; where it is open, reload it"
        if self.renewed:
            line += f"; look again at {', '.join(self.renewed)}: the task's own code has changed"
        return line


def bring(name: str, released: Notebook, work: Path) -> Update:
    """Put a released notebook into a workspace, or bring the copy there up to date.

    Whatever interrupts this, the student's file is there, whole: the old one or the new one.

    Args:
        work: the folder of the workspace; the copy is `<work>/<name>/<name>.ipynb`.

    Raises:
        GraderError: if it cannot be read or written; says why, and nothing has changed.
    """
    path = copy_of(name, work)
    try:
        for place in (path, path.parent, work):
            refuse_link_to_nowhere(place)
        while (update := _bring(name, released, path, Path(os.path.realpath(path)))) is None:
            pass  # an editor has saved it in between
        if update.is_new:
            update = replace(update, others=tuple(_answers_elsewhere(released, path, work)))
        return update
    except OSError as error:
        reason = error.strerror or str(error)
        raise GraderError(
            f"{error.filename or path} cannot be read or written: {reason}; {path} is as it was"
        ) from error


def copy_of(name: str, work: Path) -> Path:
    """Where a workspace has its copy of a notebook."""
    return work / name / f"{name}.ipynb"


def bring_files(name: str, files: Files, work: Path) -> list[str]:
    """Put what is handed out with a set beside the student's copy of its notebook.

    Where the release has another file than before, it takes the place of the student's, which stays
    beside it if they have changed it; else what they have made of it is left alone.

    Args:
        work: the folder of the workspace.

    Returns:
        A line for each file of the student's that now stands beside the release's.

    Raises:
        GraderError: if one cannot be read or written; says which.
    """
    folder, lines = copy_of(name, work).parent, []
    try:
        for above in (work, folder):
            refuse_link_to_nowhere(above)
        own = OwnFiles(folder, ())
        for place, data in files.items():
            path = folder / place
            before = path.read_bytes() if path.is_file() else None
            is_known = own.is_newest(place, data)
            is_theirs = before not in (None, data) and not own.is_own(place)
            if is_known and (is_theirs or before == data):
                continue
            if is_theirs and before is not None:
                kept = keep_beside(path, before)
                lines.append(f"{name}: {place} is newer; yours, as it was, is {kept.name}")
                # Before it is listed: else a run that is killed in between would seem to be done.
                write_atomically(path, data)
            own.write(place, data)
    except OSError as error:
        raise GraderError(
            f"{error.filename or folder} cannot be read or written: {error.strerror or error}"
        ) from error
    return lines


def _bring(name: str, released: Notebook, path: Path, file: Path) -> Update | None:
    """Do what `bring` says; None, and nothing is written, if the file changes at that moment."""
    mark = _mark(released)
    marked = _as_put(released | {"metadata": released["metadata"] | mark})
    try:
        data = file.read_bytes()
    except FileNotFoundError:
        write_atomically(file, _as_bytes(marked))
        return Update(name, path, is_new=True)
    try:
        mine = read_notebook(data)
    except ValueError as error:
        beside = keep_beside(file, data)
        write_atomically(file, _as_bytes(marked))
        problem = f"the file was no notebook ({error}){_checkpoint_of(file)}"
        return Update(name, path, beside, problem=problem)
    before = mine["metadata"].get(_MARK)
    before = before if isinstance(before, dict) else {}
    if before.get("release") == mark[_MARK]["release"]:
        return Update(name, path)
    merged = merge(mine, released)
    if content(merged.notebook) == content(mine):  # only the mark is missing
        return Update(name, path)
    untouched = before.get("cells") == cells_digest(mine)
    kept = None if untouched else keep_beside(file, data)
    newer = merged.notebook | {"metadata": merged.notebook["metadata"] | mark}
    newer = _as_put(newer) if untouched else newer
    if file.read_bytes() != data:
        return None
    write_atomically(file, _as_bytes(newer))
    counts = merged.n_answers, merged.n_own, merged.renewed
    return Update(name, path, kept, *counts, is_newer=True)


def _answers_elsewhere(released: Notebook, path: Path, work: Path) -> Iterator[Path]:
    """Find answers to a set in other notebooks: somebody, or the course, has renamed it."""
    asked = {name_of(cell) for cell in released["cells"] if is_answer(cell)}
    for other in sorted(work.rglob("*.ipynb")):
        if other.parent.name == ".ipynb_checkpoints":
            continue
        with contextlib.suppress(OSError, ValueError):
            cells = read_notebook(other.read_bytes())["cells"] if other != path else []
            if any(name_of(cell) in asked and not is_as_released(cell) for cell in cells):
                yield other


def _checkpoint_of(file: Path) -> str:
    """Say where Jupyter has the notebook as it was last saved by hand, if answers stand there."""
    checkpoint = file.parent / ".ipynb_checkpoints" / f"{file.stem}-checkpoint{file.suffix}"
    with contextlib.suppress(OSError):
        if has_work(checkpoint.read_bytes()):
            return f", but Jupyter's copy of when it was last saved holds answers: {checkpoint}"
    return ""


def take_over(name: str, answered: Path, work: Path) -> str:
    """Move a notebook that somebody has worked on elsewhere into the workspace.

    Older versions had students work in the folder of releases, which is written anew at any time.
    Where the workspace has a copy of its own, the other one is put beside it.

    Returns:
        One line that says where it is now; empty if nobody has written anything in it.

    Raises:
        GraderError: if it cannot be moved, or the workspace is that folder by a link; says why,
            and it is where it was.
    """
    try:
        data = answered.read_bytes()
        if not has_work(data):
            return ""
        path = copy_of(name, work)
        if os.path.realpath(path.parent) == os.path.realpath(answered.parent):
            raise GraderError(
                f"{path} lies in {path.parent.resolve()}, where every release is written anew, and "
                "holds answers: take the link away, and they go into a folder of their own"
            )
        if not path.exists() or os.path.realpath(path) == os.path.realpath(answered):
            write_atomically(path, data)  # also in place of a link to it
        elif path.read_bytes() != data:
            path = keep_beside(path, data, answered.stat().st_mtime)
        answered.unlink()
    except FileNotFoundError:
        return ""
    except OSError as error:
        reason = error.strerror or str(error)
        raise GraderError(f"{answered} holds answers and cannot be moved: {reason}") from error
    return f"{name}: the answers in {answered} are now in {path}"


def is_copy(data: bytes) -> bool:
    """Whether a file is a notebook that was put into a workspace, or came out of one."""
    try:
        return _MARK in read_notebook(data)["metadata"]
    except ValueError:
        return False


def keep_beside(
    path: Path, data: bytes, modified: float | None = None, into: Path | None = None
) -> Path:
    """Write what stands in a file beside it, under the date of its last change.

    Args:
        into: another folder to write it into.

    Returns:
        The file that holds it; one that was there already is never written over.
    """
    try:
        moment = datetime.datetime.fromtimestamp(modified or path.stat().st_mtime)
    except (ValueError, OverflowError, OSError):  # a clock that was set to another age
        moment = datetime.datetime.now()
    stem, n = f"{path.stem}-{moment:%Y-%m-%d-%H%M}", 1
    while True:
        kept = (into or path.parent) / f"{stem}{f'-{n}' if n > 1 else ''}{path.suffix}"
        if not kept.exists():
            write_atomically(kept, data, like=path)
            return kept
        if kept.read_bytes() == data:  # by a run that was interrupted afterwards
            return kept
        n += 1


# -------------------------------------------------------------- released notebooks alone
def released_in(folder: Path) -> dict[str, Path]:
    """Find the released notebooks in a folder, by the names of their sets.

    Raises:
        GraderError: if there is none.
    """
    paths = [*folder.glob("*.ipynb"), *folder.glob("*/*.ipynb")]
    released = {path.stem: path for path in paths if path.parent in (folder, folder / path.stem)}
    if not released:
        raise GraderError(f"{folder} has no released notebooks: SET/SET.ipynb or SET.ipynb")
    return dict(sorted(released.items()))


def files_released(notebook: Path) -> dict[str, bytes]:
    """Read what was released beside a notebook; nothing where several notebooks share a folder.

    Raises:
        GraderError: if it cannot be read.
    """
    folder = notebook.parent
    if folder.name != notebook.stem:
        return {}
    return {
        name: data
        for name, data in files_beside(folder).items()
        if name not in (RULES, f"{notebook.stem}-feedback.html")
    }


def rescue(name: str, released: Path, work: Path) -> str:
    """Copy a released notebook in which somebody has written by mistake beside their own.

    Else the next release would take the place of the file in which their answers stand.

    Returns:
        One line that says where the copy is; empty if nobody has, or their own has it all.

    Raises:
        GraderError: if it cannot be read or copied; says why.
    """
    path = copy_of(name, work)
    try:
        data = released.read_bytes()
        if not has_work(data) or content(read_notebook(data)) == content(
            read_notebook(path.read_bytes())
        ):
            return ""
        kept = keep_beside(path, data, released.stat().st_mtime)
    except (OSError, ValueError) as error:
        raise GraderError(f"{released} holds answers and cannot be copied: {error}") from error
    return f"{name}: somebody has written in {released}; a copy of it is {kept}"


def read_released(path: Path) -> Notebook:
    """Read a released notebook.

    Raises:
        GraderError: if it cannot be read, or is none; says why.
    """
    try:
        return read_notebook(path.read_bytes())
    except OSError as error:
        raise GraderError(f"{path} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise GraderError(f"{path} is not a released notebook: {error}") from error


# -------------------------------------------------------------- a copy and its release
def _mark(released: Notebook) -> dict[str, Any]:
    """Return the metadata by which a copy knows its release."""
    digest = hashlib.sha256(repr(content(released)).encode()).hexdigest()[:16]
    return {_MARK: {"release": digest}}


def _as_put(notebook: Notebook) -> Notebook:
    """Note in a copy's mark how its cells are, so that it is known whether somebody changes any."""
    mark = notebook["metadata"][_MARK] | {"cells": cells_digest(notebook)}
    return notebook | {"metadata": notebook["metadata"] | {_MARK: mark}}


def _as_bytes(notebook: Notebook) -> bytes:
    """Return the file's text, as nbformat lays it out."""
    cells = [
        cell | {"source": cell["source"].splitlines(keepends=True)} for cell in notebook["cells"]
    ]
    text = json.dumps(notebook | {"cells": cells}, ensure_ascii=False, indent=1, sort_keys=True)
    return encoded(f"{text}\n")  # which spells half a character as JSON does


def _counted(n: int, noun: str) -> str:
    return f"{n} {noun}{'' if n == 1 else 's'}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Do what `autograder work --from FOLDER` does, where nothing but this is installed."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("released", type=Path, help="folder of released notebooks")
    parser.add_argument("work", type=Path, nargs="?", default=Path(WORK), help="yours  [work]")
    options = parser.parse_args(arguments)
    try:
        releases = released_in(options.released)
        lines = [bring_rules(next(iter(releases.values())), options.work)]
        for name, path in releases.items():
            lines.append(bring(name, read_released(path), options.work).line)
            lines.append(rescue(name, path, options.work))
            lines += bring_files(name, files_released(path), options.work)
    except GraderError as error:
        sys.exit(f"error: {error}")
    print(
        "\n".join(filter(None, lines)) or f"{options.work}: {', '.join(releases)} as you left them"
    )


if __name__ == "__main__":
    main()
