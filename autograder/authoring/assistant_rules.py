"""What a course asks of code assistants, brought to where theirs look for it."""

import hashlib
from pathlib import Path

from autograder.files import write_atomically
from autograder.records import GraderError

RULES = "AGENTS.md"
"""The page, beside released notebooks and in a workspace."""

_AS_RELEASED = "\n<!-- as released: {} -->\n"  # ends the page in a workspace


def bring_rules(beside: Path, work: Path) -> str:
    """Put what is asked of assistants into a workspace, where theirs look for it.

    A page that the student has changed stays as it is: it lacks the fingerprint of its own text.

    Args:
        beside: a file in the folder that may hold the rules.

    Returns:
        One line that says what happened; empty if nothing did.

    Raises:
        GraderError: if they cannot be read or written; says why.
    """
    rules, mine = beside.with_name(RULES), work / RULES
    try:
        if not rules.is_file():
            return ""
        page = rules.read_text(encoding="utf-8")
        text = _unmarked(page) or page
        marked = text + _AS_RELEASED.format(_digest(text))
        before = mine.read_text(encoding="utf-8") if mine.exists() else ""
        if before == marked or (before not in ("", text) and _unmarked(before) is None):
            return ""
        write_atomically(mine, marked.encode())
    except (OSError, UnicodeDecodeError) as error:
        raise GraderError(f"{rules} cannot be brought to {mine}: {error}") from error
    return f"{RULES}: put into {mine}, for assistants: it asks them to tutor and not to solve"


def _unmarked(page: str) -> str | None:
    """Return what a page says above its fingerprint; None if it has none or was changed."""
    text, mark, _ = page.rpartition(_AS_RELEASED.partition("{")[0])
    return text if mark and page == text + _AS_RELEASED.format(_digest(text)) else None


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]
