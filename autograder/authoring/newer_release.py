"""A newer release with what a student had written in an older one.

Cells are known by name; where an editor took the names away, by their text or by what they define.
The standard library is all that this needs.
"""

import hashlib
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from autograder.authoring.fingerprints import Notebook, encoded, is_as_released, without_edges
from autograder.authoring.notebooks import grading, is_answer


@dataclass(frozen=True)
class Merged:
    """A newer release with what a student had written; see `Update` for the counts."""

    notebook: Notebook
    n_answers: int
    n_own: int
    renewed: tuple[str, ...]


def merge(mine: Notebook, released: Notebook) -> Merged:
    """Take a student's answers and own cells over into another release.

    Released cells come in the release's order and with its text. An answer that was changed keeps
    the student's text, and so does any other cell without a grade that was. Whatever else the
    student wrote stands behind the released cell that it stood behind before.
    """
    of_release, own = _sorted_out(mine["cells"], released["cells"])
    cells, renewed = list(own[""]), []
    n_answers = 0
    for template in released["cells"]:
        name = name_of(template)
        cell, is_students = _combined(of_release.get(name), template)
        cells.append(cell)
        if is_answer(template) and is_students:
            n_answers += 1
            before = grading(of_release[name])
            is_other = before.get("checksum") != grading(template).get("checksum")
            renewed += [name] if is_other and before.get("grade_id") == name else []
        cells += own[name]
    n_own = sum(bool(cell["source"].strip()) for of in own.values() for cell in of)
    notebook = {
        **released,
        "metadata": released["metadata"] | mine["metadata"],
        "nbformat": 4,
        "nbformat_minor": 5,
        "cells": _with_ids(cells),
    }
    return Merged(notebook, n_answers, n_own, tuple(renewed))


def name_of(cell: Mapping[str, Any]) -> str:
    """Return the name by which a release knows a cell; empty if it has none."""
    return str(grading(cell).get("grade_id") or cell.get("id", ""))


def _sorted_out(
    mine: Sequence[Notebook], released: Sequence[Notebook]
) -> tuple[dict[str, Notebook], dict[str, list[Notebook]]]:
    """Tell cells of this release, by name, from the student's own, by what they stand behind."""
    templates = {name_of(cell): cell for cell in released}
    by_text = {
        (cell["cell_type"], without_edges(cell["source"])): name_of(cell) for cell in released
    }
    there = {name_of(cell) for cell in mine}
    defined = {
        _defines(cell["source"]): name_of(cell)
        for cell in released
        if is_answer(cell) and name_of(cell) not in there and _defines(cell["source"])
    }
    of_release: dict[str, Notebook] = {}
    own: dict[str, list[Notebook]] = defaultdict(list)
    place = ""  # the top
    for cell in mine:
        name = name_of(cell)
        if name not in templates:  # some editors drop the ids
            name = by_text.get((cell.get("cell_type", ""), without_edges(cell["source"])), "")
        if name not in templates and cell.get("cell_type") == "code":  # or its metadata
            name = defined.get(_defines(cell["source"]), "")
        if name in templates and name not in of_release:
            place, of_release[name] = name, cell
            if _is_locked(templates[name]) and _is_written(cell, templates[name]):
                own[name].append(_unlocked(cell))
        elif not is_as_released(cell):  # else of an earlier release, which has it no more
            own[place].append(cell)
    return of_release, own


def _defines(source: str) -> str:
    """Return the first function or class that a cell of code defines; empty if it defines none."""
    match = re.search(r"^(?:async[ \t]+)?(?:def|class)[ \t]+(\w+)", source, re.MULTILINE)
    return match[1] if match else ""


def _is_locked(template: Notebook) -> bool:
    return bool(grading(template)) and not is_answer(template)


def _is_written(cell: Notebook, template: Notebook) -> bool:
    """Whether a student has changed this cell of an earlier release, or of this one."""
    is_same = without_edges(cell["source"]) == without_edges(template["source"])
    return not is_same and not is_as_released(cell)


def _unlocked(cell: Notebook) -> Notebook:
    """Return a locked cell that a student has changed all the same, as one of their own."""
    drop = ("nbgrader", "editable", "deletable")
    metadata = {key: value for key, value in cell["metadata"].items() if key not in drop}
    return {key: value for key, value in cell.items() if key != "id"} | {"metadata": metadata}


def _combined(cell: Notebook | None, template: Notebook) -> tuple[Notebook, bool]:
    """Return a cell of the newer release, and whether its text is the student's."""
    if cell is None:
        return template, False
    is_students = not _is_locked(template) and _is_written(cell, template)
    if not is_students and cell["source"] != template["source"]:
        return template, False
    metadata = {**cell["metadata"], **template["metadata"]}
    same = {key: template[key] for key in ("id", "cell_type") if key in template}
    combined = cell | same | {"metadata": metadata}
    if combined["cell_type"] != cell.get("cell_type"):  # as the release has it
        for key in ("outputs", "execution_count", "attachments"):
            combined.pop(key, None)
    if combined["cell_type"] == "code":
        combined = {"outputs": [], "execution_count": None} | combined
    return combined, is_students


def _with_ids(cells: Sequence[Notebook]) -> list[Notebook]:
    """Give every cell an id of its own."""
    taken: set[str] = set()
    named = []
    for number, cell in enumerate(cells):
        cell_id = cell.get("id")
        if not isinstance(cell_id, str) or not cell_id or cell_id in taken:
            digest = hashlib.sha256(encoded(f"{number} {cell['source']}")).hexdigest()[:12]
            cell_id = f"own-{digest}"
        taken.add(cell_id)
        named.append(cell | {"id": cell_id})
    return named
