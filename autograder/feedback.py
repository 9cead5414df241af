"""Turn verdicts into pages: one for each student, one for the instructor.

A student's page is built from an allow-list: points, properties in the author's words, messages of
the judge, misconceptions, the student's own code. Inputs, expected values, observed values and
staff notes never enter it. All text is escaped by the template engine, and the pages allow no
script, no image and no request, so that what a student wrote stays text.
"""

import functools
import math
import re
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import jinja2
from markupsafe import Markup, escape
from nbformat import NotebookNode

from autograder.checks import ProblemSet
from autograder.notebooks import grading, is_answer, is_graded
from autograder.records import Grade, HandGrade, PartVerdict, State, Verdict
from autograder.submission import Mended

_TOKEN = re.compile(
    # A text that is not closed runs on to the end: every branch is linear in the code's length.
    r'(?P<s>(?:\b[rbfuRBFU]{1,2})?(?:"""(?:\\[\s\S]|(?!""")[^\\])*(?:"""|\Z)'
    r"|'''(?:\\[\s\S]|(?!''')[^\\])*(?:'''|\Z)"
    r'|"(?:\\.|[^"\\\n])*"?'
    r"|'(?:\\.|[^'\\\n])*'?))"
    r"|(?P<c>#[^\n]*)"
    r"|(?P<k>\b(?:False|None|True|and|as|assert|async|await|break|class|continue|def|del|elif|else"
    r"|except|finally|for|from|global|if|import|in|is|lambda|match|nonlocal|not|or|pass|raise"
    r"|return|try|while|with|yield)\b)"
    r"|(?P<n>\b\d[\w.]*)"
)
_HIGHLIGHTED_CHARACTERS = 50_000
_SHOWN_CHARACTERS = 20_000
_BINS = 10


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
            says = {part.name: part.says for part in parts}
            by_hand = is_answer(cell) or name not in checks
            items.append(Item(name, title or name, float(grading(cell)["points"]), by_hand, says))
        return cls(problem_set.name, problem_set.title, tuple(items))

    @property
    def points(self) -> float:
        """Points of the whole set."""
        return sum(item.points for item in self.items)


# ------------------------------------------------------------------ the student's page
def student_page(
    layout: Layout, grade: Grade, mended: Mended | None, by_hand: Mapping[str, HandGrade]
) -> str:
    """Return a student's feedback: one HTML file that needs no other.

    Args:
        mended: the student's notebook as it was graded; None where there was none to read.
        by_hand: what people gave for each cell.
    """
    verdicts = {verdict.item: verdict for verdict in grade.verdicts}
    rows = [
        _student_row(item, verdicts.get(item.name), mended, by_hand.get(item.name))
        for item in layout.items
    ]
    known = [row for row in rows if row["points"] is not None]
    return (
        _environment()
        .get_template("student.html")
        .render(
            layout=layout,
            grade=grade,
            rows=rows,
            points=sum(row["points"] for row in known),
            known=sum(row["item"].points for row in known),
            open_points=sum(row["item"].points for row in rows if row["points"] is None),
            failures=_failures(grade, mended),
            State=State,
        )
    )


def _student_row(
    item: Item, verdict: Verdict | None, mended: Mended | None, by_hand: HandGrade | None
) -> dict[str, Any]:
    blank = mended is not None and item.name in mended.blank
    points = verdict.points if verdict is not None else (0.0 if blank else None)
    given = by_hand.points if by_hand is not None else None
    points = points if given is None else given
    code = "" if mended is None else mended.answers.get(item.name, "") or _words(mended, item.name)
    weight = sum(part.weight for part in verdict.parts) if verdict is not None else 0
    return {
        "item": item,
        "points": points,
        "given_by_hand": given is not None,
        "comment": by_hand.comment if by_hand is not None else "",
        "parts": [
            {
                "says": (part.message if not part.holds else "") or item.says.get(part.part, ""),
                "holds": part.holds,
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


def _words(mended: Mended, name: str) -> str:
    """Return a hand-graded answer's text."""
    texts = [cell.source for cell in mended.notebook.cells if cell.id == name and is_answer(cell)]
    return texts[0] if texts else ""


def _failures(grade: Grade, mended: Mended | None) -> list[dict[str, str]]:
    """Cells of the student's that stopped with an error, each with its first line."""
    found = []
    for cell in grade.cells:
        if cell.error and mended is not None and cell.index < len(mended.cells):
            lines = [line for line in mended.cells[cell.index].splitlines() if line.strip()]
            found.append({"line": (lines or [""])[0][:100], "error": cell.error[:500]})
    return found


# ------------------------------------------------------------------ the instructor's page
def class_page(
    layout: Layout, grades: Sequence[Grade], by_hand: Mapping[str, Mapping[str, HandGrade]]
) -> str:
    """Return the instructor's page: how the class did, where it struggled, who needs a look."""
    totals = {grade.student: _total(grade, by_hand.get(grade.student, {})) for grade in grades}
    graded = [grade for grade in grades if grade.verdicts and grade.state is not State.REFUSED]
    values = [totals[grade.student] for grade in graded]
    return (
        _environment()
        .get_template("class.html")
        .render(
            layout=layout,
            grades=grades,
            totals=totals,
            states=[(state, sum(grade.state is state for grade in grades)) for state in State],
            mean=statistics.mean(values) if values else None,
            median=statistics.median(values) if values else None,
            bins=_histogram(values, layout.points),
            items=[_item_row(item, graded, by_hand) for item in layout.items],
            misconceptions=_misconceptions(layout, graded),
            faults=[
                (grade, v.item, v.fault) for grade in grades for v in grade.verdicts if v.fault
            ],
            isolations=sorted({grade.isolation for grade in grades if grade.isolation}),
            waiting=sum(
                given.points is None
                for cells in by_hand.values()
                for name, given in cells.items()
                if any(item.name == name and item.by_hand for item in layout.items)
            ),
            State=State,
        )
    )


def _total(grade: Grade, by_hand: Mapping[str, HandGrade]) -> float:
    """Points of checks and people together; a person's points count instead of the machine's."""
    points = {verdict.item: verdict.points for verdict in grade.verdicts}
    points |= {name: given.points for name, given in by_hand.items() if given.points is not None}
    return sum(points.values())


def _histogram(values: Sequence[float], highest: float) -> list[dict[str, Any]]:
    width = (highest or 1.0) / _BINS
    counts = Counter(min(int(value / width), _BINS - 1) for value in values)
    most = max(counts.values(), default=1)
    return [
        {
            "from": index * width,
            "to": (index + 1) * width,
            "n": counts[index],
            "share": counts[index] / most,
        }
        for index in range(_BINS)
    ]


def _item_row(
    item: Item, grades: Sequence[Grade], by_hand: Mapping[str, Mapping[str, HandGrade]]
) -> dict[str, Any]:
    found = []
    failed: Counter[str] = Counter()
    for grade in grades:
        verdict = next((v for v in grade.verdicts if v.item == item.name and not v.fault), None)
        given = by_hand.get(grade.student, {}).get(item.name, HandGrade(None)).points
        if given is not None:
            found.append(given)
        elif verdict is not None:
            found.append(verdict.points)
        failed.update(_unmet(verdict.parts) if verdict is not None else ())
    return {
        "item": item,
        "n": len(found),
        "mean": statistics.mean(found) if found else None,
        "full": sum(math.isclose(value, item.points) for value in found),
        "none": sum(value == 0 for value in found),
        "hardest": [(item.says.get(name, name), count) for name, count in failed.most_common(1)],
    }


def _unmet(parts: Sequence[PartVerdict]) -> list[str]:
    return [part.part for part in parts if not part.holds]


def _misconceptions(layout: Layout, grades: Sequence[Grade]) -> list[dict[str, Any]]:
    titles = {item.name: item.title for item in layout.items}
    students: dict[tuple[str, str, str], list[str]] = {}
    for grade in grades:
        for verdict in grade.verdicts:
            if verdict.misconception is not None:
                found = verdict.misconception
                key = (verdict.item, found.name, found.hint)
                students.setdefault(key, []).append(grade.student)
    ranked = sorted(students.items(), key=lambda entry: (-len(entry[1]), entry[0]))
    return [
        {"title": titles.get(item, item), "name": name, "hint": hint, "students": who}
        for (item, name, hint), who in ranked
    ]


# ------------------------------------------------------------------ how pages are made
def highlight(code: str) -> Markup:
    """Escape Python code and mark its strings, comments, keywords and numbers."""
    if len(code) > _HIGHLIGHTED_CHARACTERS:
        return escape(code)
    pieces, end = [], 0
    for match in _TOKEN.finditer(code):
        pieces.append(escape(code[end : match.start()]))
        pieces.append(Markup('<span class="{}">{}</span>').format(match.lastgroup, match[0]))
        end = match.end()
    pieces.append(escape(code[end:]))
    return Markup("").join(pieces)


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _heading(markdown: str) -> str:
    """Return a cell's first heading, without its marks and what stands in brackets at its end."""
    match = re.search(r"^#{1,6}[ \t]+([^\n]+)", markdown, re.MULTILINE)
    return re.sub(r"\s*\([^()]*\)\s*$", "", match[1]).strip() if match else ""


@functools.cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"number": _number, "highlight": highlight}
    return environment
