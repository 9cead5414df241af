"""The line above a folded cell says what it hides, as the cell's own code tells.

MyST-NB writes "Show code cell source" above every one of them, so that a reader who sees two in a
row cannot know what either holds. Only `hide-input` is named here; the line above folded output
stays as a page sets it.
"""

import ast
import re

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform

TABLES = ("table", "recorded_table", "story_so_far")
MAGIC = re.compile(r"^\s*[%!].*$", re.MULTILINE)


def hidden(code: str, output: str) -> str:
    """What a folded cell holds, in words that follow "Show" or "Hide"; `output` is its HTML."""
    tree = ast.parse(MAGIC.sub("", code))
    if not output:
        defined = [n.name for n in tree.body if isinstance(n, ast.FunctionDef | ast.ClassDef)]
        return f"helper code: {', '.join(defined)}" if defined else "imports and data"
    shown = _called(tree)
    if shown in TABLES or (not shown and output.count("<table") == 1):
        return "how this table is made"
    if "Diagram(" in code:
        return "how this drawing is made"
    if shown == "show":
        return "how this figure is drawn"
    if shown == "print":
        return "the code behind this output"
    return "how this figure is filled" if "widgets" in code else "the code behind this"


def _called(tree: ast.Module) -> str:
    """Name of the function whose value, or whose printing, the cell ends with."""
    made = {
        target.id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    calls = [node for node in tree.body if isinstance(node, ast.Expr)]
    last: ast.expr | None = calls[-1].value if calls else None
    if isinstance(last, ast.Name):
        last = made.get(last.id)
    if not isinstance(last, ast.Call):
        printed = any(isinstance(n, ast.Name) and n.id == "print" for n in ast.walk(tree))
        return "print" if printed else ""
    function = last.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _cells(document: nodes.document) -> list[nodes.container]:
    """Code cells of which only the input is folded."""
    found = document.findall(nodes.container)
    return [
        c for c in found if c.get("nb_element") == "cell_code" and c.get("hide_mode") == "input"
    ]


def _has_output(cell: nodes.container) -> bool:
    last = cell.children[-1]
    return last.get("nb_element") == "cell_code_output" and bool(last.children)


class NameFoldedCells(SphinxPostTransform):
    """Name each folded cell, just before MyST-NB wraps it (at priority 199)."""

    default_priority = 198
    formats = ("html",)

    def run(self, **kwargs: object) -> None:
        """Set the line that a reader sees before opening, and after."""
        for cell in _cells(self.document):
            output = (cell.children[-1].astext() or "a picture") if _has_output(cell) else ""
            what = hidden(cell.children[0].astext(), output)
            cell["prompt_show"], cell["prompt_hide"] = f"Show {what}", f"Hide {what}"


class PutOutputFirst(SphinxPostTransform):
    """Let a page show a figure first, and below it how it was made."""

    default_priority = 201  # after the wrapping
    formats = ("html",)

    def run(self, **kwargs: object) -> None:
        """Move the folded code of each cell below its output."""
        for cell in _cells(self.document):
            if _has_output(cell):
                cell.children.append(cell.children.pop(0))


def setup(app: Sphinx) -> None:
    """Register both transforms."""
    app.add_post_transform(NameFoldedCells)
    app.add_post_transform(PutOutputFirst)
