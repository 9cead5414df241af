"""Answers to try on a set's checks: one file an item, in it one marked cell for each answer.

    # %% right: the standard library counts
    from collections import Counter


    def count_words(text):
        return Counter(text.split())


    # %% wrong: capitals make another word
    # shows: "The the"
    ...

The file lies in the set's folder, `answers/<function>.py`. A cell is what a student could write in
the answer cell: it runs in the solution's notebook, and imports what that has not. What is wrong
with a wrong answer stands in its first lines, as comments; the last, `# shows:`, is an input that
tells. The marks are those of jupytext's percent format, so an editor runs each cell by itself.
"""

import ast
import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autograder.authoring.locked_tests import bound
from autograder.records import GraderError

_MARK = re.compile(r"# %% (right|wrong): (\S.*)")
_LIKE_A_MARK = re.compile(r"#\s*%%")


@dataclass(frozen=True)
class KnownAnswer:
    """An answer of which it is known whether it is right.

    Attributes:
        name: unlike those of the item's other answers.
        source: of the cell, without its mark.
    """

    is_right: bool
    name: str
    source: str

    def run_in(self, namespace: dict[str, Any]) -> dict[str, Any]:
        """Run the cell among the names of the solution's notebook, and return them all."""
        exec(compile(self.source, f"<{self.name}>", "exec"), namespace)
        return namespace


def read_answers(folder: Path, targets: Collection[str]) -> dict[str, tuple[KnownAnswer, ...]]:
    """Read a set's answers, by the function or class that they define.

    Args:
        folder: that of the set, or one that has no answers.
        targets: what the set asks for; each has an entry.

    Raises:
        GraderError: if a file is about none of these, or as `read_file`.
    """
    answers: dict[str, tuple[KnownAnswer, ...]] = {target: () for target in targets}
    for path in sorted((folder / "answers").rglob("*.py")):
        if path.parent.parent != folder or path.stem not in answers:
            names = ", ".join(f"{target}.py" for target in sorted(answers))
            raise GraderError(f"{path}: it must lie in {folder / 'answers'} and be one of {names}")
        answers[path.stem] = read_file(path)
    return answers


def read_file(path: Path) -> tuple[KnownAnswer, ...]:
    """Read the answers to one item.

    Raises:
        GraderError: if a mark is none, a name is used twice, or a cell does not define what its
            file is named after; names the line.
    """
    answers: dict[str, KnownAnswer] = {}
    for line, mark, source in _cells(path.read_text(encoding="utf-8")):
        try:
            answer = _answer(mark, source, path.stem)
            if answer.name in answers:
                raise ValueError(
                    f"the name {answer.name!r} is used twice; give each answer its own"
                )
        except ValueError as error:
            raise GraderError(f"{path}:{line}: {error}") from None
        answers[answer.name] = answer
    return tuple(answers.values())


def _cells(text: str) -> list[tuple[int, str, str]]:
    """Cut a text at its marks: the line of each, the mark, and what stands below it."""
    lines = text.split("\n")
    starts = [place for place, line in enumerate(lines) if _LIKE_A_MARK.match(line)]
    if first := "\n".join(lines[: starts[0] if starts else None]).strip():
        return [(1, first.split("\n")[0], first)]
    return [
        (start + 1, lines[start], "\n".join(lines[start + 1 : end]).strip("\n") + "\n")
        for start, end in zip(starts, [*starts[1:], None], strict=True)
    ]


def _answer(mark: str, source: str, target: str) -> KnownAnswer:
    """Make an answer of a cell.

    Raises:
        ValueError: if it is not as the module says; says why.
    """
    match = _MARK.fullmatch(mark.rstrip())
    if not match:
        raise ValueError(f"{mark!r} is not a mark; write '# %% right: name' or '# %% wrong: name'")
    kind, name = match.groups()
    try:
        tree = ast.parse(source)
    except SyntaxError as error:
        raise ValueError(f"{name!r} is not Python: {error.msg}, line {error.lineno}") from None
    if not tree.body:
        raise ValueError(f"{name!r} is empty; write the answer below its mark")
    if target not in set().union(*map(bound, tree.body)):
        raise ValueError(f"{name!r} defines no {target}; it must, as the student's cell does")
    if kind == "wrong" and not re.search(r"^# shows: \S", source, re.MULTILINE):
        raise ValueError(
            f"{name!r} shows nothing; name an input that gives it away: '# shows: ...'"
        )
    return KnownAnswer(kind == "right", name, source)
