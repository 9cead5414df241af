"""Make what students get: a folder, and the same as a zip file, with nothing that is secret.

    the released notebooks        problem_sets/<set>/<set>.ipynb; AGENTS.md and what is handed out
                                  beside each
    the course's folder edition/  as it is: README, AGENTS.md, requirements
    what course.toml lists        below [edition]: the package, the book, licences

Slides go without their speaker notes, which answer the questions to the room. Before anything is
written, every file is searched for what the course keeps to itself. A list of all files with their
checksums is written with them. By it the next run knows what it may replace.
"""

import hashlib
import io
import json
import os
import re
import shutil
import tempfile
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from autograder.authoring.course import Course
from autograder.authoring.exam_bank import secret_texts
from autograder.authoring.lint import lint
from autograder.authoring.notebooks import as_text
from autograder.authoring.release import ReleasedSet
from autograder.authoring.secrets import CHECK, SOLUTION, Finding, Secrets
from autograder.authoring.unpacked import lists
from autograder.files import scratch_folder, set_rights, write_atomically
from autograder.records import GraderError

LIST = ".student-edition.json"
"""The list of an edition's files, by which the next run knows them."""

_SETS = "problem_sets"
_WORKFLOWS = (".github", "workflows")
_NO_DATE = (1980, 1, 1, 0, 0, 0)  # the same zip file from the same course
_MOST_NAMED = 12
# Where reveal.js has what a lecturer says; no markup of the notes can end it early.
_SPEAKER_NOTES = re.compile(rb'<aside\b[^>]*\bclass="notes"[^>]*>.*?</aside>', re.DOTALL)


@dataclass(frozen=True)
class Edition:
    """All files of an edition, in memory.

    Attributes:
        files: what each holds, by its path with slashes.
        public: lines of solutions or checks that stand in the package or the book as well.
        missing: what `course.toml` lists and is not there.
        secrets: what was looked for.
    """

    files: Mapping[str, bytes]
    public: tuple[Finding, ...]
    missing: tuple[Path, ...]
    secrets: Secrets


def make(course: Course) -> Edition:
    """Gather the files of an edition and search them.

    Raises:
        GraderError: if a set cannot be released, or something secret would be given away; names it.
    """
    sets = [ReleasedSet(course, name) for name in course.sets()]
    own = dict(_from_course(course, sets))
    listed, missing = _listed(course)
    for path in sorted(own.keys() & listed.keys()):
        raise GraderError(
            f"[edition] in course.toml puts a file at {path}, which the course already has"
        )
    secrets = Secrets(sets, _texts(course))
    given_away = [one for path, data in own.items() for one in secrets.find(path, data)]
    public: list[Finding] = []
    for path, data in listed.items():
        for one in secrets.find(path, data):
            # A reference is taken from the package, which students have, and the book teaches it.
            (public if one.kind in (SOLUTION, CHECK) else given_away).append(one)
    if given_away:
        raise GraderError(_given_away(given_away))
    files = {**own, **listed}
    return Edition({**files, **lists(files)}, tuple(public), tuple(missing), secrets)


def write(edition: Edition, folder: Path) -> Path:
    """Write an edition into a folder and a zip file beside it; return the zip file's path.

    What stands there from an earlier run is replaced as a whole, so that a reader never sees half
    of each.

    Raises:
        GraderError: if something stands there that no earlier run has written, or that was changed
            since; names it, and nothing is written.
    """
    folder = Path(os.path.abspath(folder))
    archive = folder.with_name(f"{folder.name}.zip")
    try:
        _refuse_what_others_wrote(folder, archive)
        return _replace(edition, folder, archive)
    except OSError as error:
        reason = error.strerror or str(error)
        raise GraderError(f"{error.filename or folder} cannot be written: {reason}") from error


# ------------------------------------------------------------------ what goes in
def _from_course(course: Course, sets: Sequence[ReleasedSet]) -> Iterator[tuple[str, bytes]]:
    yield from _files_below(course.own_edition)
    for released in sets:
        complaints = lint(released.notebooks, released.problem_set)
        if complaints:
            raise GraderError(f"{released.name} cannot be released: {'; '.join(complaints)}")
        place = f"{_SETS}/{released.name}"
        yield f"{place}/{released.name}.ipynb", as_text(released.notebooks.student).encode()
        for name, data in released.files.items():
            yield f"{place}/{name}", data
        if course.rules.is_file():
            yield f"{place}/{course.rules.name}", course.rules.read_bytes()


def _listed(course: Course) -> tuple[dict[str, bytes], list[Path]]:
    files: dict[str, bytes] = {}
    missing = []
    for source, target in course.edition().items():
        if source.is_file():
            files[target] = source.read_bytes()
        elif source.is_dir():
            files |= {f"{target}/{path}": data for path, data in _files_below(source)}
        else:
            missing.append(source)
    for path, data in files.items():
        if path.endswith(".html"):
            files[path] = _SPEAKER_NOTES.sub(b"", data)
    return files, missing


def _files_below(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Yield what people wrote or a build made; no caches or links, nothing hidden but workflows."""
    for path in sorted(folder.rglob("*")):
        inner = path.relative_to(folder)
        left_out = any(part.startswith(".") or part == "__pycache__" for part in inner.parts)
        left_out &= inner.parts[:2] != _WORKFLOWS
        if path.is_file() and not path.is_symlink() and not left_out and path.suffix != ".pyc":
            yield inner.as_posix(), path.read_bytes()


def _texts(course: Course) -> dict[str, str]:
    """Return what only instructors may read: pages beside the sets, and the bank of questions."""
    pages = {path.name: path.read_text("utf-8") for path in sorted(course.folder.glob("*.md"))}
    return pages | secret_texts(course)


def _given_away(findings: Sequence[Finding]) -> str:
    lines = [f"{one.place}: {one.kind} of {one.origin}: {one.text}" for one in findings]
    more = len(lines) - _MOST_NAMED
    rest = [f"and {more} more"] if more > 0 else []
    head = f"nothing was written, as {len(lines)} pieces would give away what students must not see"
    return "\n".join([f"{head}:", *lines[:_MOST_NAMED], *rest])


# ------------------------------------------------------------------ how it gets there
def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _refuse_what_others_wrote(folder: Path, archive: Path) -> None:
    known = _known(folder)
    there = [
        path
        for path in folder.rglob("*")
        if (not path.is_dir() or path.is_symlink()) and path.parent.name != "__pycache__"
    ]
    foreign = [
        path
        for path in there
        if path != folder / LIST and not _is_known(path, path.relative_to(folder).as_posix(), known)
    ]
    if archive.exists() and not _is_known(archive, archive.name, known):
        foreign.append(archive)
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        foreign.append(folder)
    if foreign:
        names = ", ".join(str(path) for path in foreign[:_MOST_NAMED])
        raise GraderError(
            f"nothing was written: the student edition did not write this, or it was changed "
            f"since: {names}; move it away, or name another folder with --out"
        )


def _known(folder: Path) -> dict[str, str]:
    try:
        return dict(json.loads((folder / LIST).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return {}


def _is_known(path: Path, name: str, known: Mapping[str, str]) -> bool:
    if path.is_symlink() or not path.is_file() or name not in known:
        return False
    return known[name] == _digest(path.read_bytes())


def _replace(edition: Edition, folder: Path, archive: Path) -> Path:
    packed_files = packed(edition.files, folder.name)
    checksums = {path: _digest(data) for path, data in edition.files.items()}
    checksums[archive.name] = _digest(packed_files)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with scratch_folder(folder.parent) as fresh:
        for path, data in edition.files.items():
            target = fresh / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
        # The list of an earlier run goes on to know the archive that it has written.
        old = {archive.name: _known(folder).get(archive.name, "")}
        (fresh / LIST).write_text(json.dumps(checksums | old if archive.exists() else checksums))
        set_rights(fresh, 0o755)
        if folder.exists():
            away = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
            folder.rename(away / folder.name)
            fresh.rename(folder)
            shutil.rmtree(away)
        else:
            fresh.rename(folder)
    write_atomically(archive, packed_files)
    write_atomically(folder / LIST, json.dumps(checksums, indent=0).encode())
    return archive


def _rights(path: str) -> int:
    """Let nobody write in the notebooks as released: a newer edition takes their place."""
    return 0o444 if path.startswith(f"{_SETS}/") and path.endswith(".ipynb") else 0o644


def packed(files: Mapping[str, bytes], name: str) -> bytes:
    """Return a zip file of a folder by this name; of the same files, the same one."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in sorted(files.items()):
            entry = zipfile.ZipInfo(f"{name}/{path}", _NO_DATE)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = _rights(path) << 16
            archive.writestr(entry, data)
    return out.getvalue()
