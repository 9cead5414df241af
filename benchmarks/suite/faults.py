"""One-line faults in a tree's own sources, drawn with a seed.

What may change is what `autograder check --mutants` changes in solutions: a comparison turned, a
sign, a constant one off, `and` for `or`, `not` added or dropped, a slice one place away, arguments
swapped, nothing returned, a condition of a comprehension or a simple statement left out. Here the
change is made in the text, so that everything else in the file stays as it was written.
"""

import ast
import random
import subprocess
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from autograder.validation.mutants import changes

FOLDERS = ("course_pkg", "autograder", "assignments", "book/_ext")
# Nothing in them computes, or (f-strings, before Python 3.12) their places are not known.
_MESSAGES = (ast.Raise, ast.JoinedStr)


@dataclass(frozen=True)
class Fault:
    """A source file with one change.

    Attributes:
        path: of the file, from the root of the tree.
        line: where the change begins, from 1.
        before: the first changed line as it was.
        after: the same line as it is now.
        text: the whole changed file.
    """

    path: str
    line: int
    before: str
    after: str
    text: str


def sources(root: Path) -> list[str]:
    """The tracked Python files that faults are drawn from: no tests, and no answers to try."""
    listed = subprocess.run(
        ["git", "ls-files", "--", *FOLDERS], cwd=root, capture_output=True, text=True, check=True
    )
    return [
        path
        for path in sorted(listed.stdout.splitlines())
        if path.endswith(".py")
        and not Path(path).name.startswith("test_")
        and not {"answers", "template"} & set(Path(path).parts)
    ]


def draw_faults(root: Path, n_faults: int, seed: int) -> list[Fault]:
    """Draw faults on different lines, each line of code that may change being equally likely.

    Of the changes to a line one is drawn, each equally likely, too. A line all of whose changes
    would alter more of the program than that one place gives way to the next. So the first faults
    are the same however many are asked for.

    Raises:
        ValueError: if there are fewer such lines.
    """
    texts = {path: (root / path).read_text(encoding="utf-8") for path in sources(root)}
    places = [(path, line) for path, text in texts.items() for line in _changes_by_line(text)]
    rng = random.Random(seed)
    rng.shuffle(places)
    faults = []
    for path, line in places:
        if len(faults) == n_faults:
            break
        choices = _changes_by_line(texts[path])[line]
        rng.shuffle(choices)
        fault = next(filter(None, (_fault(path, texts[path], *choice) for choice in choices)), None)
        if fault:
            faults.append(fault)
    if len(faults) < n_faults:
        raise ValueError(f"{n_faults} faults asked for, but only {len(faults)} lines may change")
    return faults


def _changes_by_line(text: str) -> dict[int, list[tuple[ast.AST, ast.AST]]]:
    """All changes of a source text by the line they begin on, as (node, what replaces it)."""
    tree = ast.parse(text)
    silent = {id(node) for message in _walk(tree, _MESSAGES) for node in ast.walk(message)}
    lines = defaultdict(list)
    for whole in changes(tree):
        old, new = _narrowed(*whole)
        is_on_a_line = hasattr(old, "lineno") and old.lineno == old.end_lineno
        if is_on_a_line and id(old) not in silent:
            lines[old.lineno].append((old, new))
    return lines


def _walk(tree: ast.AST, kinds: tuple[type[ast.AST], ...]) -> Iterator[ast.AST]:
    return (node for node in ast.walk(tree) if isinstance(node, kinds))


def _narrowed(old: ast.AST, new: ast.AST) -> tuple[ast.AST, ast.AST]:
    """The smallest node with a place in the text that holds all of the change."""
    while type(old) is type(new):
        differ = [
            (value, getattr(new, name))
            for name, value in ast.iter_fields(old)
            if value is not getattr(new, name, None)
        ]
        if len(differ) != 1 or not all(hasattr(node, "_fields") for node in differ[0]):
            break
        if not hasattr(differ[0][0], "lineno"):  # an operator: its operands stand around it
            break
        old, new = differ[0]
    return old, new


def _fault(path: str, text: str, old: ast.AST, new: ast.AST) -> Fault | None:
    """Make the change in the text; None if the program would change in another way as well."""
    written = ast.unparse(ast.fix_missing_locations(new))
    if isinstance(new, ast.expr) and not isinstance(new, ast.Slice | ast.Constant | ast.Name):
        written = f"({written})"
    lines = text.encode().splitlines(keepends=True)  # columns count bytes
    start = sum(map(len, lines[: old.lineno - 1])) + old.col_offset
    end = sum(map(len, lines[: old.end_lineno - 1])) + old.end_col_offset
    changed = (text.encode()[:start] + written.encode() + text.encode()[end:]).decode()
    if not _is_only_change(text, changed, old, new):
        return None
    before, after = (whole.splitlines()[old.lineno - 1].strip() for whole in (text, changed))
    return Fault(path, old.lineno, before, after, changed)


def _is_only_change(text: str, changed: str, old: ast.AST, new: ast.AST) -> bool:
    meant = _Exchange(old, new).visit(ast.parse(text))
    try:
        return ast.dump(ast.parse(changed)) == ast.dump(meant)
    except SyntaxError:
        return False


class _Exchange(ast.NodeTransformer):
    """Puts another node in the place of one, which it knows by where it stands in the text."""

    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self._old, self._new = old, new

    def visit(self, node: ast.AST) -> ast.AST:
        return self._new if _is_same(node, self._old) else self.generic_visit(node)


def _is_same(node: ast.AST, other: ast.AST) -> bool:
    places = ("lineno", "col_offset", "end_lineno", "end_col_offset")
    return type(node) is type(other) and all(
        getattr(node, name, None) == getattr(other, name) for name in places
    )
