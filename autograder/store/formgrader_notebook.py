"""Show in a notebook what a submission earned, for nbgrader's formgrader and feedback."""

import nbformat
from nbformat import NotebookNode

from autograder.authoring.notebooks import grading, is_answer
from autograder.records import Grade, Verdict
from autograder.untrusted import as_markdown


def formgrader_notebook(notebook: NotebookNode, grade: Grade) -> NotebookNode:
    """Return a repaired submission as formgrader shows it: points and reasons as its only outputs.

    What the student wrote outside code is made harmless first: formgrader would render it.
    Changes `notebook` in place.
    """
    verdicts = {verdict.item: verdict for verdict in grade.verdicts}
    for cell in notebook.cells:
        if cell.cell_type != "code":
            own = is_answer(cell) or not grading(cell)
            cell.source = as_markdown(cell.source) if own else cell.source
            continue
        verdict = verdicts.get(grading(cell).get("grade_id", ""))
        cell.outputs = []
        if verdict is not None:
            shown = {"output_type": "stream", "name": "stdout", "text": describe_verdict(verdict)}
            cell.outputs = [nbformat.from_dict(shown)]  # type: ignore[no-untyped-call]
    return notebook


def describe_verdict(verdict: Verdict) -> str:
    """Return a verdict as plain text for the instructor's eyes and the student's."""
    lines = [f"{verdict.points:g} of {verdict.max_points:g} points"]
    for part in verdict.parts:
        lines.append(f"{'+' if part.passed else '-'} {part.part}: {part.message or 'passed'}")
    lines += [f"Hint: {found.hint}" for found in verdict.misconceptions]
    if verdict.fault:
        lines.append("The check itself failed; your instructor has been told.")
    return "\n".join(lines) + "\n"
