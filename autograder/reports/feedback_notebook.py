"""A student's feedback as a notebook: what the page says, for platforms that take no page.

Canvas shows whatever it is given under the name of the file that was handed in, `ps1.ipynb`; so it
has to be one. What students wrote stands in it as the code of cells, or as text in which nothing
acts.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import nbformat
from nbformat import NotebookNode

from autograder.authoring.outline import Outline
from autograder.intake.repair import RepairedNotebook
from autograder.records import Grade, HandGrade, State
from autograder.reports.html import duration, late_days, number, still_open, when
from autograder.reports.limited import ALL, Shown
from autograder.reports.student_feedback import seen_by_student
from autograder.untrusted import as_line, as_markdown

_TWO_CAUSES = ["One of two causes.", "The other cause."]


def feedback_notebook(
    outline: Outline,
    grade: Grade,
    repaired: RepairedNotebook | None,
    by_hand: Mapping[str, HandGrade],
    shown: Shown = ALL,
) -> NotebookNode:
    """Return a student's feedback as a notebook that runs nothing.

    Args:
        repaired: the student's notebook as it was graded; None where there was none to read.
        by_hand: what people gave for each cell.
        shown: how much of the grade may be read.
    """
    seen = seen_by_student(outline, grade, repaired, by_hand, shown)
    cells = [_text("overview", "\n\n".join(_overview(seen)))]
    for row in seen["rows"] if grade.state is not State.REFUSED else ():
        name = row["item"].name
        cells.append(_text(name, "\n\n".join(_item(row))))
        if row["code"] and not row["blank"]:
            cells.append(_answer(f"{name}-yours", row["code"], row["is_code"]))
    made: NotebookNode = nbformat.v4.new_notebook(cells=cells)  # type: ignore[no-untyped-call]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    made.metadata = nbformat.from_dict({"kernelspec": kernel})  # type: ignore[no-untyped-call]
    return made


def _text(cell_id: str, markdown: str) -> NotebookNode:
    made: NotebookNode = nbformat.v4.new_markdown_cell(markdown)  # type: ignore[no-untyped-call]
    made.id = cell_id[:64]  # the notebook format's limit
    return made


def _answer(cell_id: str, text: str, is_code: bool) -> NotebookNode:
    if not is_code:
        return _text(cell_id, f"Your answer:\n\n{_block(text)}")
    made: NotebookNode = nbformat.v4.new_code_cell(text)  # type: ignore[no-untyped-call]
    made.id = cell_id[:64]
    return made


def _overview(seen: Mapping[str, Any]) -> Iterator[str]:
    grade, timing = seen["grade"], seen["grade"].timing
    yield f"# {seen['outline'].title}: feedback for {as_markdown(as_line(grade.student))}"
    if grade.state is State.REFUSED:
        yield "**Your notebook could not be graded.** No points have been given yet."
    elif seen["shown"].has_points:
        still = still_open(seen["open_points"])
        yield f"**{number(seen['points'])}** of {number(seen['known'])} points{still}."
    yield from seen["shown"].says
    if timing.is_late:
        late = f"{duration(timing.seconds_late)} late" if timing.seconds_late else "late"
        spent = f"{late_days(timing.late_days)} spent, " if timing.late_days else ""
        taken = f": {spent}{number(timing.penalty)} points taken off"
        taken = taken if grade.state is not State.REFUSED and seen["shown"].has_points else ""
        yield f"Due {when(timing.due)}; it came {late}{taken}."
    if timing.late_days_left is not None:
        yield f"After this set you have {late_days(timing.late_days_left)} left."
    yield from (f"- {as_markdown(as_line(reason))}" for reason in grade.reasons)
    for failure in seen["failures"]:
        yield "A cell of yours stopped with an error; the cells after it ran all the same:"
        yield _block(f"{failure['line']}\n{failure['error']}")


def _item(row: Mapping[str, Any]) -> Iterator[str]:
    item, points = row["item"], row["points"]
    earned = "open" if points is None else number(points)
    yield f"## {item.title}: {earned} of {number(item.points)} points"
    if row["fault"]:
        yield "The check of this task failed by its own fault: you keep the points in question."
    elif row["blank"]:
        yield "You left this one blank."
    if row["by_hand"]:
        yield row["by_hand"]
    if row["comment"]:
        yield " ".join(filter(None, [row["comment_says"], as_markdown(row["comment"])]))
    if row["blank"]:
        return
    for part in row["parts"]:
        worth = f", {number(part['points'])} points" if part["points"] else ""
        met = "met" if part["passed"] else "not met"
        mark = "\u2713" if part["passed"] else "\u2717"
        yield f"- {mark} {as_markdown(as_line(part['says']))} ({met}{worth})"
    if row["passes"] is not None and points is None:
        yield f"The visible test {'passes' if row['passes'] else 'does not pass'}."
    if row["difference"]:
        yield from _difference(row["difference"])
    if row["kept"]:
        yield as_markdown(row["kept"])
    titles = ["A likely cause."] if len(row["causes"]) == 1 else _TWO_CAUSES
    for title, misconception in zip(titles, row["causes"], strict=False):
        yield f"**{title}** {as_markdown(misconception.hint)}"


def _difference(difference: Mapping[str, Any]) -> Iterator[str]:
    if not difference["asked"]:
        yield f"The visible test stops with an error:\n\n{_block(difference['says'])}"
        return
    holds = "should be something else" if difference["compares"] else "does not hold"
    yield f"In the visible test, this {holds}:"
    yield _block(difference["asked"])
    if difference["says"]:
        yield f"The test says: {as_markdown(as_line(difference['says']))}"
    if difference["compares"]:
        yield f"Yours:\n\n{_block(difference['found'])}"
        yield f"Expected:\n\n{_block(difference['expected'])}"


def _block(text: str) -> str:
    """Return text as Markdown's indented code, out of which no line of it leads.

    Some programs look for formulas even there, so it is made harmless as any other text.
    """
    return "\n".join(f"    {as_markdown(as_line(line))}" for line in text.splitlines())
