"""The files beside a student's copy of a notebook, brought up to date without losing theirs.

    no file yet, or as it was put there  ──► the release's
    changed, and the release has not     ──► the student's stays
    changed, and the release has, too    ──► the release's; the student's stays beside it, under
                                             the date of its last change

The standard library is all that this needs.
"""

from pathlib import Path

from autograder.authoring.assistant_rules import RULES
from autograder.authoring.workspace import copy_of, keep_beside
from autograder.files import OwnFiles, refuse_link_to_nowhere
from autograder.handed_out import Files, files_beside
from autograder.records import GraderError


def bring_files(name: str, files: Files, work: Path) -> list[str]:
    """Put what is handed out with a set beside the student's copy of its notebook.

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
            own.write(place, data)
    except OSError as error:
        raise GraderError(
            f"{error.filename or folder} cannot be read or written: {error.strerror or error}"
        ) from error
    return lines


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
