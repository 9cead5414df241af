"""Show in a notebook what a submission earned, for nbgrader's formgrader and feedback."""

import contextlib
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from autograder.authoring.fingerprints import cells_digest
from autograder.authoring.notebooks import as_text, grading, is_answer
from autograder.authoring.workspace import KEPT, keep_beside
from autograder.files import as_utf8, write_if_new
from autograder.records import Grade, Verdict
from autograder.untrusted import as_markdown, as_seen

_MARK = "autograder"


def write_shown(path: Path, notebook: NotebookNode) -> Path | None:
    """Write formgrader's notebook; one in which somebody has written since is kept below `kept/`.

    There, because nbgrader takes every notebook beside this one for a part of the assignment. Each
    bears a digest of its cells. One of an older version has none: it is kept unless its cells are
    those of this one.

    Returns:
        Where the notebook stands that somebody may have changed; None if nobody had.
    """
    notebook.metadata[_MARK] = {"as_made": cells_digest(notebook)}
    kept = None
    with contextlib.suppress(FileNotFoundError):
        before = path.read_bytes()
        if not _is_as_made(before, notebook):
            kept = keep_beside(path, before, into=path.parent / KEPT)
    write_if_new(path, as_utf8(as_text(notebook)))
    return kept


def _is_as_made(data: bytes, new: NotebookNode) -> bool:
    """Whether nobody can have changed a notebook since it was made, or not from what is new."""
    try:
        notebook = nbformat.reads(data.decode(), 4)  # type: ignore[no-untyped-call]
        digest = cells_digest(notebook)
        known = notebook.metadata.get(_MARK, new.metadata[_MARK])["as_made"]
    except (ValueError, LookupError, TypeError, AttributeError):
        return False
    return bool(digest == known)


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
        cell.source = as_seen(cell.source)
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
    lines += [f"Hint: {misconception.hint}" for misconception in verdict.misconceptions]
    if verdict.fault:
        lines.append("The check itself failed; your instructor has been told.")
    return "\n".join(lines) + "\n"
