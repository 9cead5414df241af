"""Turn verdicts into a student's page.

It is built from an allow-list: points, properties in the author's words, messages of the judge,
misconceptions, the student's own code. Hidden inputs, what was expected and observed on them, and
staff notes never enter it.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from autograder.authoring.notebooks import is_answer
from autograder.authoring.outline import Item, Outline
from autograder.intake.repair import RepairedNotebook
from autograder.records import Difference, Grade, HandGrade, State, Verdict
from autograder.reports.html import number, render
from autograder.reports.limited import ALL, Shown, limited

_SHOWN_CHARACTERS = 20_000
_COMMENT_ON_EARLIER = "This was said of what you had handed in before:"


def student_page(
    outline: Outline,
    grade: Grade,
    repaired: RepairedNotebook | None,
    by_hand: Mapping[str, HandGrade],
    is_own: bool = False,
    shown: Shown = ALL,
) -> str:
    """Return a student's feedback: one HTML file that needs no other.

    Args:
        repaired: the student's notebook as it was graded; None where there was none to read.
        by_hand: what people gave for each cell.
        is_own: students have graded themselves; the page says that this is no official grade.
        shown: how much of the grade may be read.
    """
    seen = seen_by_student(outline, grade, repaired, by_hand, shown)
    return render("student.html", **seen, is_own=is_own)


def seen_by_student(
    outline: Outline,
    grade: Grade,
    repaired: RepairedNotebook | None,
    by_hand: Mapping[str, HandGrade],
    shown: Shown = ALL,
) -> dict[str, Any]:
    """Return all that a student may see of a grade, whatever it is shown on: the allow-list.

    Args:
        repaired: as for `student_page`, and the rest.
    """
    grade = limited(grade, shown, repaired)
    verdicts = {verdict.item: verdict for verdict in grade.verdicts}
    full = {one.item for one in grade.verdicts if one.points >= one.max_points}
    # A picture beside full points would puzzle; without points, it says nothing of them.
    differences = {one.item: _shown(one) for one in grade.differences if one.item not in full}
    rows = [
        _student_row(item, verdicts.get(item.name), repaired, by_hand.get(item.name))
        | {"difference": differences.get(item.name), "passes": grade.visible.get(item.name)}
        | {"unjudged": item.name in grade.unjudged}
        for item in outline.items
    ]
    known = [row for row in rows if row["points"] is not None]
    earned = sum(row["points"] for row in known)
    return {
        "outline": outline,
        "grade": grade,
        "rows": rows,
        "earned": earned,
        "points": max(0.0, earned - grade.timing.penalty),
        "known": sum(row["item"].points for row in known),
        "open_points": sum(row["item"].points for row in rows if row["points"] is None),
        "failures": _failures(grade, repaired),
        "shown": shown,
        "State": State,
    }


def _student_row(
    item: Item,
    verdict: Verdict | None,
    repaired: RepairedNotebook | None,
    by_hand: HandGrade | None,
) -> dict[str, Any]:
    blank = repaired is not None and item.name in repaired.blank
    points = verdict.points if verdict is not None else (0.0 if blank else None)
    by_hand = by_hand or HandGrade(None)
    points = by_hand.counts(points)
    code = (
        ""
        if repaired is None
        else repaired.answers.get(item.name, "") or _words(repaired, item.name)
    )
    weight = sum(part.weight for part in verdict.parts) if verdict is not None else 0
    worth = item.points / weight if weight and not item.is_counted else 0.0
    return {
        "item": item,
        "points": points,
        "by_hand": _by_hand(by_hand),
        "comment": by_hand.comment,
        "comment_says": _COMMENT_ON_EARLIER * by_hand.earlier_comment,
        "parts": [
            *(_counts(item, verdict) if verdict is not None and item.is_counted else ()),
            *(
                {
                    "says": (part.message if not part.passed else "")
                    or item.requirements.get(part.part, ""),
                    "passed": part.passed,
                    "points": worth * part.weight,
                }
                for part in (verdict.parts if verdict is not None else ())
                if not (part.passed and item.is_counted)
            ),
        ],
        "causes": verdict.misconceptions if verdict is not None else (),
        "kept": _kept(verdict) if verdict is not None and by_hand.points is None else "",
        "fault": bool(verdict is not None and verdict.fault),
        "blank": blank,
        "code": code[:_SHOWN_CHARACTERS],
        "is_code": not item.by_hand,
    }


def _kept(verdict: Verdict) -> str:
    """Say that points were kept which the parts alone would not earn; nothing where none were."""
    if not verdict.kept:
        return ""
    names = " ".join(misconception.name for misconception in verdict.misconceptions)
    points = f"{number(verdict.points)} of {number(verdict.max_points)} points"
    return f"{points}: right but for this. {names}"


def _counts(item: Item, verdict: Verdict) -> Iterator[dict[str, Any]]:
    """Count how many parts of each kind hold."""
    for kind in dict.fromkeys(item.requirements.values()):
        held = [part.passed for part in verdict.parts if item.requirements.get(part.part) == kind]
        says = f"{kind} That holds for {sum(held)} of {len(held)}."
        yield {"says": says, "passed": all(held), "points": 0.0}


def _by_hand(given: HandGrade) -> str:
    """Say what of the points a person gave, and for what; nothing where none are a person's."""
    if given.points is None and not given.extra:
        return ""
    says = "These points were given by a person."
    if given.extra:
        n = f"{number(given.extra)} point{'s' * (given.extra != 1)}"
        says = (
            f"A person gave {'these points, and ' * (given.points is not None)}{n} of extra credit."
        )
    if given.earlier_points:
        says += " That was for what you had handed in before: a person will look at it again."
    return says


def _shown(difference: Difference) -> dict[str, Any]:
    """What the page says about a difference; numbers of one axis are drawn, too."""
    pair = (difference.found, difference.expected)
    plot = _plot(*pair) if all(isinstance(side, tuple) for side in pair) else None
    texts = [_numbers(side) if isinstance(side, tuple) else side for side in pair]
    sides = {"found": texts[0], "expected": texts[1], "plot": plot}
    return {
        "asked": difference.asked,
        "says": difference.says,
        "compares": texts != ["", ""],
        **sides,
    }


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
    failures = []
    for cell in grade.cells:
        if cell.error and repaired is not None and cell.index < len(repaired.cells):
            lines = [line for line in repaired.cells[cell.index].splitlines() if line.strip()]
            failures.append({"line": (lines or [""])[0][:100], "error": cell.error[:500]})
    return failures
