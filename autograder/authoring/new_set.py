"""Start a problem set: a small working one, to be changed into what its author wants."""

import re
from importlib.resources import files
from pathlib import Path

from autograder.authoring.course import SETTINGS, Course
from autograder.files import write_atomically, write_folder
from autograder.records import GraderError

_TEMPLATE = files("autograder.authoring").joinpath("template")
_NAME = re.compile(r"[a-z][a-z0-9]*")


def new_set(course: Course, name: str) -> Path:
    """Write a set of two small functions into a folder of its own, and return the folder.

    Raises:
        GraderError: if the name is not a word of lower-case letters and digits, or is taken.
    """
    folder = course.folder / name
    if not _NAME.fullmatch(name):
        raise GraderError(
            f"the name is {name!r}; it must be lower-case letters and digits, such as ps9"
        )
    if folder.exists():
        raise GraderError(f"{folder} exists already; choose another name")
    written = {}
    for place, templates in (("", _TEMPLATE), ("answers/", _TEMPLATE.joinpath("answers"))):
        for template in templates.iterdir():
            if template.is_file() and template.name != SETTINGS:
                path = place + template.name.replace("SET", name).replace(".txt", ".py")
                written[path] = _of_set(template.read_text(encoding="utf-8"), name).encode()
    write_folder(folder, written)
    return folder


def explain_settings(course: Course, name: str) -> Path | None:
    """Write a `course.toml` that explains every setting and sets none; None if there is one.

    Args:
        name: of a set, for the examples.
    """
    path = course.folder / SETTINGS
    if path.exists() or path.is_symlink():
        return None
    text = _TEMPLATE.joinpath(SETTINGS).read_text(encoding="utf-8")
    write_atomically(path, _of_set(text, name).encode())
    return path


def _of_set(text: str, name: str) -> str:
    return re.sub(r"\bSET(?=\b|_)", name, text)
