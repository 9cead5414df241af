"""Empty the folder of what can be made again, and leave what people have made: `make clean`.

    python -m autograder.class_run.build_folder _build

Nobody should keep anything there, but older versions did: a class with all its grades, and the
answers of students who had opened the released notebooks where they lay. Both are left, and named
with what to do. Runs on any Python, before the environment is there and after it is gone.
"""

import contextlib
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from autograder.authoring.fingerprints import has_work
from autograder.authoring.workspace import KEPT, is_copy
from autograder.files import OWN_FILES, OwnFiles
from autograder.store.class_folder import classes_below

SAMPLE = "sample_class"  # nobody in it is real
_WAY_OUT = {True: "`make lab` moves it into work/", False: "move it to another folder"}


def empty(build: Path) -> tuple[str, ...]:
    """Delete all in the folder that can be made again; return a line for each thing that was left.

    A folder that is gone already is empty. Links are deleted, not followed; one in place of the
    folder itself may lead to where other things lie as well, and nothing is deleted there, nor as
    long as anything is mounted below.
    """
    if build.is_symlink():
        return (f"left: {build} is a link to {os.readlink(build)}; delete there what was built",)
    left = [f"left: {place}, for it is mounted from elsewhere" for place in _mounts_below(build)]
    if left:
        return tuple(left)
    for entry in sorted(build.iterdir()) if build.is_dir() else ():
        if entry.is_symlink() or not entry.is_dir():
            entry.unlink()
            continue
        kept = [] if entry.name == SAMPLE else list(_made_by_people(entry))
        if not kept:
            shutil.rmtree(entry)
        left += kept
    if build.is_dir() and not any(build.iterdir()):
        build.rmdir()
    return tuple(left)


def _mounts_below(folder: Path) -> Iterator[str]:
    """Yield where something else is mounted below a folder, as far as the system says so."""
    top = f"{os.path.realpath(folder)}/"
    with contextlib.suppress(OSError), open("/proc/self/mountinfo", encoding="utf-8") as mounts:
        for line in mounts:
            place = line.split()[4].replace("\\040", " ")
            if place.startswith(top):
                yield place


def _made_by_people(folder: Path) -> Iterator[str]:
    for kept in classes_below(folder):
        yield (
            f"left: {kept}, for it has the grades of a class; the next `autograder` command about "
            "the class moves it, or says what to do"
        )
    lists = filter(Path.is_file, folder.glob(f"**/{OWN_FILES}"))
    changed = {path for made in lists for path in OwnFiles(made.parent, ()).changed()}
    for path in filter(Path.is_file, folder.glob("**/*.ipynb")):
        data, inner = path.read_bytes(), path.relative_to(folder).parts
        is_student_version = "release" in inner[:-1] and KEPT not in inner
        is_theirs = KEPT in inner or (path in changed and not is_student_version)
        if is_theirs or ((is_student_version or is_copy(data)) and has_work(data)):
            where_students_worked = folder.name == "course" and inner[0] == "release"
            yield f"left: {path}, for somebody has worked in it; {_WAY_OUT[where_students_worked]}"


if __name__ == "__main__":
    try:
        for line in empty(Path(sys.argv[1])):
            print(line)
    except OSError as error:
        sys.exit(f"error: {error.filename or sys.argv[1]}: {error.strerror}")
