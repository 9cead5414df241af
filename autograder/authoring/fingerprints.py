"""Whether somebody has changed a cell or a notebook that was once released.

A released cell bears its own fingerprint: nbgrader's checksum in its metadata, or a digest in its
id. So what a student has changed is known without the release that it once was. The standard
library is all that this needs.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

from autograder.authoring.notebooks import grading

Notebook = dict[str, Any]
"""A notebook of format 4, as its file has it."""

_ID_WITH_DIGEST = re.compile(r"cell-\d{3}-([0-9a-f]{8})")


def read_notebook(data: bytes) -> Notebook:
    """Read a notebook of format 4.

    Raises:
        ValueError: if it is none; says what it is.
    """
    try:
        notebook = json.loads(data.decode("utf-8-sig"))
    except RecursionError:
        raise ValueError("its lists are nested too deeply") from None
    cells = notebook.get("cells") if isinstance(notebook, dict) else None
    if not isinstance(cells, list) or not all(isinstance(cell, dict) for cell in cells):
        raise ValueError("it has no list of cells")
    if not isinstance(notebook.setdefault("metadata", {}), dict):
        raise ValueError("its metadata is not a dict")
    for cell in cells:
        source = cell.get("source", "")
        cell["source"] = "".join(source) if isinstance(source, list) else str(source)
        if not isinstance(cell.setdefault("metadata", {}), dict):
            cell["metadata"] = {}
    return dict(notebook)


def is_as_released(cell: Mapping[str, Any]) -> bool:
    """Whether a cell is one that some release had, and has the text that it had there."""
    spellings = _spellings(cell["source"])
    if grading(cell):
        noted = grading(cell).get("checksum")
        return any(checksum({**cell, "source": text}) == noted for text in spellings)
    match = _ID_WITH_DIGEST.fullmatch(str(cell.get("id", "")))
    return match is not None and match[1] in map(text_digest, spellings)


def without_edges(text: str) -> str:
    """Return a text as it is compared: editors end lines, and the last one, in their own ways."""
    return "\n".join(line.rstrip() for line in text.split("\n")).rstrip()


def _spellings(text: str) -> set[str]:
    """Return what a cell's text may have been before an editor saved it in its own way."""
    lines = text.replace("\r\n", "\n")
    ends = {lines.removesuffix("\n"), lines.rstrip("\n"), without_edges(text)}
    return {text, lines, *ends}


def is_made_by_release(data: bytes) -> bool:
    """Whether a notebook is some version that a release writes: its cells are named as there."""
    try:
        cells = read_notebook(data)["cells"]
    except ValueError:
        return False
    return all(cell.get("id") == grading(cell).get("grade_id", _id_of_text(cell)) for cell in cells)


def _id_of_text(cell: Mapping[str, Any]) -> str | None:
    return str(cell.get("id")) if is_as_released(cell) else None


def cells_digest(notebook: Mapping[str, Any]) -> str:
    """Return a digest of all that cells hold, also beside their text; not of how often they ran."""
    cells = [{k: v for k, v in c.items() if k != "execution_count"} for c in notebook["cells"]]
    return hashlib.sha256(json.dumps(cells, sort_keys=True).encode()).hexdigest()[:16]


def text_digest(source: str) -> str:
    """What the id of a released cell without a grade id says of its text."""
    return hashlib.sha256(encoded(source)).hexdigest()[:8]


def encoded(text: str) -> bytes:
    """Encode a cell's text; JSON can spell half a character, which UTF-8 has not."""
    return text.encode("utf-8", "backslashreplace")


def checksum(cell: Mapping[str, Any]) -> str:
    """Return nbgrader's checksum of a cell, as its `compute_checksum` defines it."""
    meta = grading(cell)
    is_grade, is_solution = bool(meta.get("grade")), bool(meta.get("solution"))
    is_locked = not is_solution and (is_grade or bool(meta.get("locked")))
    words = [cell["source"], cell.get("cell_type", ""), is_grade, is_solution, is_locked]
    words.append(meta.get("grade_id", ""))
    if is_grade:
        try:
            words.append(float(meta.get("points", 0)))
        except (TypeError, ValueError):
            return ""
    return hashlib.md5(encoded("".join(map(str, words))), usedforsecurity=False).hexdigest()


def content(notebook: Notebook) -> list[tuple[str, str, str]]:
    """Return what a release decides, or a student: not outputs, and not what editors note."""
    return [
        (cell.get("cell_type", ""), cell["source"], json.dumps(grading(cell), sort_keys=True))
        for cell in notebook["cells"]
    ]


def has_work(data: bytes) -> bool:
    """Whether somebody has written something into what was once a released notebook.

    Outputs alone do not count: they can be made again. A file that is no notebook counts.
    """
    try:
        return not all(map(is_as_released, read_notebook(data)["cells"]))
    except ValueError:
        return bool(data.strip())
