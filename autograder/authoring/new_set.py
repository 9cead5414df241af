"""Start a problem set: a small working one, to be changed into what its author wants."""

import re
from importlib.resources import files
from pathlib import Path

from autograder.authoring.course import Course
from autograder.files import write_folder
from autograder.records import GraderError

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
    top = files("autograder.authoring").joinpath("template")
    for place, templates in (("", top), ("answers/", top.joinpath("answers"))):
        for template in templates.iterdir():
            if template.is_file():
                text = re.sub(r"\bSET(?=\b|_)", name, template.read_text(encoding="utf-8"))
                path = place + template.name.replace("SET", name).replace(".txt", ".py")
                written[path] = text.encode()
    write_folder(folder, written)
    return folder
