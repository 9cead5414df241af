"""Turn verdicts into a student's page.

It is built from an allow-list: points, properties in the author's words, messages of the judge,
misconceptions, the student's own code. Hidden inputs, what was expected and observed on them, and
staff notes never enter it.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from nbformat import NotebookNode

from autograder.authoring.checks import ProblemSet
from autograder.authoring.notebooks import grading, is_answer, is_graded
from autograder.intake.repair import RepairedNotebook
from autograder.records import Difference, Grade, HandGrade, State, Verdict
from autograder.reports.html import render

_SHOWN_CHARACTERS = 20_000


@dataclass(frozen=True)
class Item:
    """One thing that earns points.

    Attributes:
        says: for each part of its check, the property in words.
    """

    name: str
    title: str
    points: float
    by_hand: bool
    says: Mapping[str, str]


@dataclass(frozen=True)
class Layout:
    """What the pages of a set are about, in the notebook's order."""

    name: str
    title: str
    items: tuple[Item, ...]

    @classmethod
    def of(cls, problem_set: ProblemSet, released: NotebookNode) -> Self:
        """Read titles and points off the released notebook."""
        checks = {check.item: check for check in problem_set.checks}
        items, title = [], ""
        for cell in released.cells:
            if cell.cell_type == "markdown":
                title = _heading(cell.source) or title
            if not is_graded(cell):
                continue
            name = grading(cell)["grade_id"]
            parts = checks[name].parts if name in checks else ()
            says = {part.name: part.requirement for part in parts}
            by_hand = is_answer(cell) or name not in checks
            items.append(Item(name, title or name, float(grading(cell)["points"]), by_hand, says))
        return cls(problem_set.name, problem_set.title, tuple(items))

    @property
    def points(self) -> float:
        """Points of the whole set."""
        return sum(item.points for item in self.items)


# ------------------------------------------------------------------ the student's page
def student_page(
    layout: Layout,
    grade: Grade,
    repaired: RepairedNotebook | None,
    by_hand: Mapping[str, HandGrade],
) -> str:
    """Return a student's feedback: one HTML file that needs no other.

    Args:
        repaired: the student's notebook as it was graded; None where there was none to read.
        by_hand: what people gave for each cell.
    """
    verdicts = {verdict.item: verdict for verdict in grade.verdicts}
    shown = {found.item: _shown(found) for found in grade.differences}
    rows = [
        _student_row(item, verdicts.get(item.name), repaired, by_hand.get(item.name))
        | {"difference": shown.get(item.name)}
        for item in layout.items
    ]
    known = [row for row in rows if row["points"] is not None]
    earned = sum(row["points"] for row in known)
    return render(
        "student.html",
        layout=layout,
        grade=grade,
        rows=rows,
        earned=earned,
        points=max(0.0, earned - grade.timing.penalty),
        known=sum(row["item"].points for row in known),
        open_points=sum(row["item"].points for row in rows if row["points"] is None),
        failures=_failures(grade, repaired),
        State=State,
    )


def _student_row(
    item: Item,
    verdict: Verdict | None,
    repaired: RepairedNotebook | None,
    by_hand: HandGrade | None,
) -> dict[str, Any]:
    blank = repaired is not None and item.name in repaired.blank
    points = verdict.points if verdict is not None else (0.0 if blank else None)
    given = by_hand.points if by_hand is not None else None
    points = points if given is None else given
    code = (
        ""
        if repaired is None
        else repaired.answers.get(item.name, "") or _words(repaired, item.name)
    )
    weight = sum(part.weight for part in verdict.parts) if verdict is not None else 0
    return {
        "item": item,
        "points": points,
        "given_by_hand": given is not None,
        "comment": by_hand.comment if by_hand is not None else "",
        "parts": [
            {
                "says": (part.message if not part.passed else "") or item.says.get(part.part, ""),
                "passed": part.passed,
                "points": item.points * part.weight / weight if weight else 0.0,
            }
            for part in (verdict.parts if verdict is not None else ())
        ],
        "misconception": verdict.misconception if verdict is not None else None,
        "fault": bool(verdict is not None and verdict.fault),
        "blank": blank,
        "code": code[:_SHOWN_CHARACTERS],
        "is_code": not item.by_hand,
    }


def _shown(found: Difference) -> dict[str, Any]:
    """What the page says about a difference; numbers of one axis are drawn, too."""
    pair = (found.found, found.expected)
    plot = _plot(*pair) if all(isinstance(side, tuple) for side in pair) else None
    texts = [_numbers(side) if isinstance(side, tuple) else side for side in pair]
    return {"asked": found.asked, "found": texts[0], "expected": texts[1], "plot": plot}


def _numbers(values: tuple[float, ...]) -> str:
    return f"[{', '.join(f'{value:.4g}' for value in values)}]"


def _plot(found: Any, expected: Any) -> dict[str, Any] | None:
    """Return where the numbers of both sides stand in a drawing of 400 by 120."""
    if len(found) != len(expected):
        return None
    low, high = min(*found, *expected), max(*found, *expected)
    height = (high - low) or 1.0
    across = [20 + 360 * place / (len(found) - 1) for place in range(len(found))]
    up = [
        [round(110 - 100 * (value - low) / height, 1) for value in side]
        for side in (found, expected)
    ]
    gaps = [abs(a - b) for a, b in zip(found, expected, strict=True)]
    return {
        "found": list(zip(across, up[0], strict=True)),
        "expected": list(zip(across, up[1], strict=True)),
        "largest": max(gaps),
        "place": gaps.index(max(gaps)),
    }


def _words(repaired: RepairedNotebook, name: str) -> str:
    """Return a hand-graded answer's text."""
    texts = [cell.source for cell in repaired.notebook.cells if cell.id == name and is_answer(cell)]
    return texts[0] if texts else ""


def _failures(grade: Grade, repaired: RepairedNotebook | None) -> list[dict[str, str]]:
    """Cells of the student's that stopped with an error, each with its first line."""
    found = []
    for cell in grade.cells:
        if cell.error and repaired is not None and cell.index < len(repaired.cells):
            lines = [line for line in repaired.cells[cell.index].splitlines() if line.strip()]
            found.append({"line": (lines or [""])[0][:100], "error": cell.error[:500]})
    return found


def _heading(markdown: str) -> str:
    """Return a cell's first heading, without its marks and what stands in brackets at its end."""
    match = re.search(r"^#{1,6}[ \t]+([^\n]+)", markdown, re.MULTILINE)
    return re.sub(r"\s*\([^()]*\)\s*$", "", match[1]).strip() if match else ""
