"""What a problem set consists of, as its pages and reports show it: titles, points, properties."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

from nbformat import NotebookNode

from autograder.authoring.checks import ProblemSet
from autograder.authoring.notebooks import (
    assignment_and_notebook,
    grading,
    is_answer,
    is_graded,
)

_HEADING = re.compile(r"^(#{1,6})[ \t]+([^\n]+)", re.MULTILINE)
_POINTS = re.compile(r"\((\d+(?:\.\d+)?) points?\b")


@dataclass(frozen=True)
class Item:
    """One thing that earns points.

    Attributes:
        requirements: for each part of its check, the property in words.
        is_counted: its parts are of a few kinds, and so many of each hold: which ones is told only
            where one does not.
        answers: names of the cells that it is about: the last ones that students write in.
    """

    name: str
    title: str
    points: float
    by_hand: bool
    requirements: Mapping[str, str]
    is_counted: bool = False
    answers: tuple[str, ...] = ()


@dataclass(frozen=True)
class Outline:
    """What earns points in a set, in the notebook's order."""

    name: str
    title: str
    items: tuple[Item, ...]

    @classmethod
    def of(cls, problem_set: ProblemSet, released: NotebookNode) -> Self:
        """Read titles and points off the released notebook.

        A title is the heading above; of several items under one, with the item's name.
        """
        checks = {check.item: check for check in problem_set.checks}
        items, title = [], ""
        answers: list[str] = []
        is_answered = False  # whether something that earns points has come since the last answer
        for cell in released.cells:
            if cell.cell_type == "markdown":
                title = _heading(cell.source) or title
            if is_answer(cell):
                is_alone = is_answered or is_graded(cell)
                answers = [*([] if is_alone else answers), grading(cell)["grade_id"]]
                is_answered = False
            if not is_graded(cell):
                continue
            name = grading(cell)["grade_id"]
            parts = checks[name].parts if name in checks else ()
            is_counted = name in checks and checks[name].chance > 0
            requirements = {part.name: part.requirement for part in parts}
            by_hand = is_answer(cell) or name not in checks
            points = float(grading(cell)["points"])
            held = requirements, is_counted, tuple(answers)
            items.append(Item(name, title or name, points, by_hand, *held))
            is_answered = True
        shared = Counter(item.title for item in items)
        items = [
            replace(item, title=f"{item.title}: {item.name}") if shared[item.title] > 1 else item
            for item in items
        ]
        return cls(problem_set.name, problem_set.title, tuple(items))

    @property
    def heading(self) -> str:
        """What pages and windows are called: the set's name, too, as several may be open."""
        return self.title if self.title.startswith(self.name) else f"{self.name}: {self.title}"

    @property
    def points(self) -> float:
        """Points of the whole set."""
        return sum(item.points for item in self.items)

    @property
    def page(self) -> str:
        """Where a student's page lies below the student's folder, in nbgrader's layout."""
        assignment, notebook = assignment_and_notebook(self.name)
        return f"{assignment}/{notebook}.html"

    @property
    def about(self) -> dict[str, tuple[str, ...]]:
        """The cells with the answers that each item is about, by its name."""
        return {item.name: item.answers for item in self.items if item.answers}

    @property
    def belongs(self) -> dict[str, str]:
        """The first item that each cell with an answer belongs to, by that cell's name."""
        return {cell: item.name for item in reversed(self.items) for cell in item.answers}

    @property
    def titles(self) -> dict[str, str]:
        """The title of each item, by its name."""
        return {item.name: item.title for item in self.items}


def joined(assignment: str, outlines: Sequence[Outline]) -> Outline:
    """Return the outline of an assignment of several notebooks: all that earns points in it."""
    items = tuple(item for outline in outlines for item in outline.items)
    return Outline(assignment, assignment, items)


def misstated_points(cells: Sequence[NotebookNode]) -> Iterator[str]:
    """Say which headings promise other points than the cells below them give.

    Points have one home, the cell that earns them; a heading "2. Mean (30 points)" repeats them.
    """
    matches = [(place, _HEADING.search(cell.source)) for place, cell in enumerate(cells)]
    headings = [
        (place, len(match[1]), match[2])
        for place, match in matches
        if match is not None and cells[place].cell_type == "markdown"
    ]
    for place, level, words in headings:
        stated = _POINTS.search(words)
        ends = (later for later, other, _ in headings if later > place and other <= level)
        below = cells[place : next(ends, len(cells))]
        given = sum(grading(cell)["points"] for cell in below if is_graded(cell))
        if stated is not None and float(stated[1]) != given:
            yield f"the heading {words!r} says {stated[1]} points, its cells give {given:g}"


def _heading(markdown: str) -> str:
    """Return a cell's first heading, without its marks and what stands in brackets at its end."""
    match = _HEADING.search(markdown)
    return re.sub(r"\s*\([^()]*\)\s*$", "", match[2]).strip() if match else ""
