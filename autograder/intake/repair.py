"""Read a notebook that a student may have damaged or forged, and repair it from the released one.

Nothing in the file is trusted: cells are taken out by hand with bounds, and its metadata serves
only to find out which released cell a cell once was. Locked cells are put back as they were. All
other code is the student's and runs in the student's order, so an answer that was split, copied
or moved to a new cell still counts. Whatever is repaired or ignored leaves a reason in words.
"""

import hashlib
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import nbformat
from nbformat import NotebookNode

from autograder.authoring.fingerprints import is_as_released
from autograder.authoring.notebooks import UNGRADED_TAG, Cell, assignment_and_notebook, defines
from autograder.authoring.release import ReleasedSet
from autograder.intake.collection import AGAIN, MAX_CONTAINERS, first_few, is_too_intricate
from autograder.records import SubmissionRefused

_MAX_CELLS = 2_000
_MAX_CELL_CHARACTERS = 1 << 20


@dataclass(frozen=True)
class RepairedNotebook:
    """A submission ready to be run.

    Attributes:
        cells: code to run, in order: what sets the notebook up, then the student's, and locked
            cells as they were released.
        answers: for each item, the student's code that answers it (for feedback).
        blank: items and hand-graded questions that were left as they were released.
        reasons: what was repaired or ignored.
        notebook: the repaired notebook without outputs, for formgrader.
    """

    cells: tuple[str, ...]
    answers: Mapping[str, str]
    blank: frozenset[str]
    reasons: tuple[str, ...]
    notebook: NotebookNode

    @property
    def content(self) -> str:
        """Digest of all that is graded, by the machine or by people; outputs are no part of it."""
        shown = [[cell.cell_type, cell.source] for cell in self.notebook.cells]
        text = json.dumps([self.cells, sorted(self.answers.items()), shown])
        return hashlib.sha256(text.encode()).hexdigest()


# -------------------------------------------------------------- from bytes to cells
def _load(data: bytes) -> dict[str, Any]:
    if not data.strip():
        raise SubmissionRefused(f"the file is empty; {AGAIN}")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        what = f"the file is not UTF-8 text (byte {error.start})"
        raise SubmissionRefused(f"{what}; {AGAIN}") from None
    if is_too_intricate(data):
        raise SubmissionRefused(f"the file holds more than {MAX_CONTAINERS} lists and dicts")
    try:
        notebook = json.loads(text)
    except RecursionError:
        raise SubmissionRefused(f"the file's JSON is nested too deeply; {AGAIN}") from None
    except json.JSONDecodeError as error:
        what = f"the file is not JSON: {str(error)[:100]}"
        raise SubmissionRefused(f"{what}; {AGAIN}") from None
    except ValueError:  # by Python's own bound on the digits of a number
        what = f"the file holds a number of more than {sys.get_int_max_str_digits()} digits"
        raise SubmissionRefused(f"{what}; {AGAIN}") from None
    if not isinstance(notebook, dict):
        what = f"the file is a JSON {type(notebook).__name__}, not a notebook"
        raise SubmissionRefused(f"{what}; {AGAIN}")
    return notebook


def _upgrade(notebook: dict[str, Any], reasons: list[str]) -> dict[str, Any]:
    """Bring an older format to the current one; a newer one is read as if it were current.

    By hand: nbformat's own conversion refuses the whole file for one cell that it does not like.
    """
    version = notebook.get("nbformat")
    if type(version) is not int:
        reasons.append("the file does not say which notebook format it has")
    elif version > 4:
        reasons.append(f"the notebook has the unknown format {version}; it was read as format 4")
    elif version < 4:
        reasons.append(f"the notebook had the old format {version}; it was converted")
        sheets = notebook.get("worksheets", [notebook])
        if not isinstance(sheets, list) or not all(isinstance(sheet, dict) for sheet in sheets):
            raise SubmissionRefused(f"the notebook has the old format {version}, but no worksheets")
        lists = [sheet.get("cells") for sheet in sheets]
        cells = [cell for some in lists if isinstance(some, list) for cell in some]
        return notebook | {"cells": [_upgrade_cell(cell) for cell in cells]}
    return notebook


def _upgrade_cell(cell: object) -> object:
    if not isinstance(cell, dict):
        return cell
    source = cell.get("source", cell.get("input", ""))
    if cell.get("cell_type") != "heading":
        return cell | {"source": source}
    level = cell.get("level")
    marks = "#" * (level if type(level) is int and 1 <= level <= 6 else 1)
    text = "".join(map(str, source)) if isinstance(source, list) else source
    return cell | {"cell_type": "markdown", "source": f"{marks} {text}"}


def _cells(notebook: dict[str, Any], reasons: list[str]) -> list[Cell]:
    raw_cells = notebook.get("cells")
    if not isinstance(raw_cells, list):
        raise SubmissionRefused(f"the notebook has no list of cells; {AGAIN}")
    if not raw_cells:
        raise SubmissionRefused(f"the notebook has no cells; {AGAIN}")
    if len(raw_cells) > _MAX_CELLS:
        raise SubmissionRefused(f"the notebook has {len(raw_cells)} cells; at most {_MAX_CELLS}")
    cells = []
    for number, raw in enumerate(raw_cells, start=1):
        cell = _read_cell(raw, number)
        if cell is None:
            reasons.append(f"cell {number} is damaged; it was left out")
        else:
            cells.append(cell)
    return cells


def _read_cell(raw: object, number: int) -> Cell | None:
    if not isinstance(raw, dict):
        return None
    kind, source, metadata = raw.get("cell_type"), raw.get("source"), raw.get("metadata")
    if isinstance(source, list) and all(isinstance(line, str) for line in source):
        source = "".join(source)
    if kind not in ("code", "markdown", "raw") or not isinstance(source, str):
        return None
    if len(source) > _MAX_CELL_CHARACTERS:
        return None
    # Half a surrogate pair is legal in JSON, but no file and no process can take it.
    source = source.encode("utf-8", "replace").decode("utf-8")
    source = source.replace("\r\n", "\n").replace("\r", "\n")  # as Python reads them
    cell = Cell(kind, source, metadata if isinstance(metadata, dict) else {}, number)
    cell_id = raw.get("id")
    return replace(cell, origin=cell_id if isinstance(cell_id, str) else None)


def _kernel_reasons(notebook: dict[str, Any]) -> Iterator[str]:
    metadata = notebook.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    for key, field in (("language_info", "name"), ("kernelspec", "language")):
        info = metadata.get(key)
        language = info.get(field) if isinstance(info, dict) else None
        if isinstance(language, str) and language.lower() not in ("python", "ipython", ""):
            yield f"the notebook is set to the language {language[:30]!r}; it was run as Python"
            return


# -------------------------------------------------------------- putting back what was released
def repair(data: bytes, released: ReleasedSet) -> RepairedNotebook:
    """Repair a submission from the student notebook that was released.

    Raises:
        SubmissionRefused: if the bytes are no notebook, or another set's; says what they are.
    """
    reasons: list[str] = []
    notebook = _upgrade(_load(data), reasons)
    reasons += _kernel_reasons(notebook)
    handed_in = _cells(notebook, reasons)
    if other := _other_set(handed_in, released):
        own = f"{assignment_and_notebook(released.name)[1]}.ipynb"
        what = f"this is the notebook of {other}, not of {released.name}"
        raise SubmissionRefused(f"{what}; hand in {own}")
    repairer = _Repairer(released, reasons)
    cells = repairer.repair(handed_in)
    return _assemble(cells, released, [*first_few(reasons), *repairer.summary()])


def _other_set(cells: Sequence[Cell], released: ReleasedSet) -> str:
    """Name the set whose marks the cells bear, if they bear and define nothing of this one."""
    claimed = [cell.grading.get("grade_id") for cell in cells]
    marks = {mark for mark in (*claimed, *(cell.origin for cell in cells)) if type(mark) is str}
    course = released.course
    if not marks.isdisjoint(_marked(released)) or any(
        defines(cell.source, target) for cell in cells for target in released.targets.values()
    ):
        return ""
    for name in course.sets():
        if name != released.name and not marks.isdisjoint(_marked(ReleasedSet(course, name))):
            return name
    return ""


def _marked(released: ReleasedSet) -> set[str]:
    return {name for name, cell in _templates(released).items() if cell.grading}


def _templates(released: ReleasedSet) -> dict[str, Cell]:
    """Return the released cells by their ids."""
    return {
        cell.id: Cell(cell.cell_type, cell.source, cell.metadata, origin=cell.id)
        for cell in released.notebooks.student.cells
    }


class _Repairer:
    """The walk over a submission's cells, with what it has seen so far."""

    def __init__(self, released: ReleasedSet, reasons: list[str]) -> None:
        self.templates = _templates(released)
        self.order = {name: index for index, name in enumerate(self.templates)}
        self.by_text = {cell.text: name for name, cell in self.templates.items() if cell.source}
        self.targets = released.targets
        self.reasons = reasons
        self.seen: set[str] = set()
        self.moved: list[str] = []
        self.changed: list[str] = []
        self.marked: list[str] = []
        self.missing: list[str] = []
        self.lost: list[str] = []
        self.is_older = False

    def repair(self, cells: Sequence[Cell]) -> list[Cell]:
        kept: list[Cell] = []
        reached = -1
        for cell in map(self._recognise, cells):
            if cell.origin is not None and self.templates[cell.origin].is_locked:
                self._look_at_locked(cell, reached)
                if cell.origin in self.seen or self.order[cell.origin] < reached:
                    continue  # a copy; or moved down, so it is put back as if it were missing
                cell = self.templates[cell.origin]
            else:
                cell = self._look_at_own(cell)
            if cell.origin is not None:
                self.seen.add(cell.origin)
                reached = max(reached, self.order[cell.origin])
            kept.append(cell)
        return self._put_back(kept)

    def summary(self) -> Iterator[str]:
        """Say in a line each what happened to cells that have nothing else to say.

        In a notebook of an older release, what is elsewhere or missing is the course's doing.
        """
        where = () if self.is_older else ((self.moved, "moved"), (self.missing, "missing"))
        for names, fate in ((self.changed, "changed"), *where):
            if len(names) == 1:
                yield f"the locked cell {names[0]} was {fate}; it was put back"
            elif names:
                yield f"{len(names)} locked cells were {fate}; they were put back: {_few(names)}"
        if len(self.lost) == 1:
            yield f"the answer cell {self.lost[0]} is missing"
        elif self.lost:
            yield f"{len(self.lost)} answer cells are missing: {_few(self.lost)}"
        if self.marked:
            which = (
                f"cell {self.marked[0]}" if len(self.marked) == 1 else f"{len(self.marked)} cells"
            )
            yield f"the marks of {which} were changed; that has no effect"

    def _recognise(self, cell: Cell) -> Cell:
        """Find the released cell that this one was: by its grade id, its cell id or its text."""
        named = cell.grading.get("grade_id")
        for origin in (named, cell.origin, self.by_text.get(cell.text)):
            if isinstance(origin, str) and origin in self.templates:
                if self.templates[origin].is_locked and self._defines_target(cell.source, origin):
                    self.reasons.append(
                        f"cell {cell.number} bears the mark of the locked cell {origin} but holds "
                        "an answer; it was run as the student's own"
                    )
                    return replace(cell, origin=None)
                return replace(cell, origin=origin)
        return replace(cell, origin=None)

    def _defines_target(self, source: str, origin: str) -> bool:
        released = self.templates[origin].source
        return any(
            defines(source, name) and not defines(released, name) for name in self.targets.values()
        )

    def _look_at_locked(self, cell: Cell, reached: int) -> None:
        assert cell.origin is not None
        template = self.templates[cell.origin]
        if cell.origin in self.seen:
            self.reasons.append(f"a copy of the locked cell {cell.origin} was left out")
        elif self._is_of_older_release(cell, template):
            self.is_older = True
        elif (cell.text, cell.kind) != (template.text, template.kind):
            self.changed.append(cell.origin)
        elif cell.role != template.role:
            self.marked.append(cell.origin)
        if cell.origin not in self.seen and self.order[cell.origin] < reached:
            self.moved.append(cell.origin)

    def _look_at_own(self, cell: Cell) -> Cell:
        """Give an answer its released kind and marks back; leave every other cell as it is."""
        if cell.origin is None:
            return replace(cell, metadata=_only_tags(cell))
        template = self.templates[cell.origin]
        if cell.origin in self.seen:
            if template.is_answer:
                words = f"several cells are named {cell.origin}; all were used, in order"
                self.reasons.append(words)
            return replace(cell, origin=None, metadata=_only_tags(template))
        if not template.is_answer:
            return replace(cell, metadata=template.metadata)
        if cell.kind != template.kind:
            self.reasons.append(
                f"the answer {cell.origin} was a {cell.kind} cell; it was read as {template.kind}"
            )
        elif self._is_of_older_release(cell, template):
            self.is_older = True
        elif cell.role != template.role:
            self.marked.append(cell.origin)
        return replace(cell, kind=template.kind, metadata=template.metadata)

    def _is_of_older_release(self, cell: Cell, template: Cell) -> bool:
        """Whether a cell has the fingerprint that another release gave it; a locked one, rightly.

        What an answer's mark was made from, its text, is no longer there to be compared.
        """
        print_there, print_here = (one.grading.get("checksum") for one in (cell, template))
        if not isinstance(print_there, str) or print_there == print_here:
            return False
        as_in_file = {"metadata": cell.metadata, "source": cell.source, "cell_type": cell.kind}
        return template.is_answer or is_as_released(as_in_file)

    def _put_back(self, kept: list[Cell]) -> list[Cell]:
        """Insert what is missing before the first cell that was released after it."""
        for origin, template in self.templates.items():
            if origin in self.seen or not template.grading:
                continue
            if template.is_answer:
                self.lost.append(origin)
                lost = replace(template, source="")
            else:
                if origin not in self.moved:
                    self.missing.append(origin)
                lost = template
            places = (
                place
                for place, cell in enumerate(kept)
                if cell.origin is not None and self.order[cell.origin] > self.order[origin]
            )
            kept.insert(next(places, len(kept)), lost)
        return kept


def _few(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")


def _only_tags(cell: Cell) -> dict[str, Any]:
    return {"tags": [UNGRADED_TAG]} if cell.is_ungraded_work else {}


def _assemble(
    cells: Sequence[Cell], released: ReleasedSet, reasons: Sequence[str]
) -> RepairedNotebook:
    targets, templates = released.targets, _templates(released)
    to_run, written = list(released.setup), {item: list[str]() for item in targets}
    blank: set[str] = set()
    for cell in cells:
        name = cell.origin or ""
        template = templates.get(name)
        if template is not None and template.is_autograded:
            continue
        own = template is None or not template.is_locked
        left_out = cell.is_ungraded_work or (template is not None and template.is_ungraded_work)
        if cell.kind == "code" and cell.source.strip() and not left_out:
            to_run.append(cell.source)
            for item, target in targets.items():
                if cell.origin == f"{item}_answer" or (own and defines(cell.source, target)):
                    written[item].append(cell.source.rstrip("\n"))
        if template is not None and template.is_answer and template.is_graded:
            # A cell that was put back (number 0) is no answer, but its text may stand elsewhere: a
            # person has to look.
            unchanged = cell.number and cell.text in ("", template.text)
            blank |= {name} if unchanged else set()
    # For feedback and comparison; a cell may define all targets, and there may be thousands.
    answers = {
        item: "\n\n".join(texts).strip("\n")[:_MAX_CELL_CHARACTERS]
        for item, texts in written.items()
    }
    for item in targets:
        answer, stub = Cell("code", answers[item], {}), templates.get(f"{item}_answer")
        if not answer.text or (stub is not None and answer.text == stub.text):
            blank.add(item)
    return RepairedNotebook(
        cells=tuple(to_run),
        answers=answers,
        blank=frozenset(blank),
        reasons=tuple(dict.fromkeys(reasons)),
        notebook=_as_notebook(cells, released.notebooks.student),
    )


def _as_notebook(cells: Sequence[Cell], released: NotebookNode) -> NotebookNode:
    """Put a notebook together without nbformat's constructors, which validate cell by cell.

    That takes longer than running most cells, and everything here is made or checked by us.
    """
    untyped = nbformat.from_dict(  # type: ignore[no-untyped-call]
        {"metadata": released.metadata, "nbformat": 4, "nbformat_minor": 5, "cells": []}
    )
    notebook: NotebookNode = untyped
    for index, cell in enumerate(cells):
        node = NotebookNode(  # type: ignore[no-untyped-call]
            id=cell.origin or f"own-{index}",
            cell_type=cell.kind,
            metadata=nbformat.from_dict(cell.metadata),  # type: ignore[no-untyped-call]
            source=cell.source,
        )
        if cell.kind == "code":
            node |= {"execution_count": None, "outputs": []}
        notebook.cells.append(node)
    return notebook
