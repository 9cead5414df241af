"""The `{mistakes}` directive: every misconception that a problem set's checks know, with its hint.

    ```{mistakes} ps1
    ```

The rows are read from the set itself, so that the page cannot differ from what is graded.
"""

from collections.abc import Iterable

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from autograder.authoring.checks import Check
from autograder.authoring.course import find_course

from .assets import ROOT

HEADER = ("misconception", "what the student reads")


class MistakesDirective(SphinxDirective):
    """Write one table for each item of a set."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return, for each item, its name and a table."""
        course = find_course(ROOT / "assignments")
        for path in course.check_files(self.arguments[0]):
            self.env.note_dependency(str(path))
        checks = course.problem_set(self.arguments[0]).checks
        return [node for check in checks for node in (title(check), table(check))]


def title(check: Check) -> nodes.paragraph:
    """Return what stands above an item's table."""
    number = f": {len(check.mistakes)} mistakes, {check.points:g} points"
    return nodes.paragraph("", "", nodes.literal("", check.target), nodes.Text(number))


def table(check: Check) -> nodes.table:
    """Return the names and hints of an item's mistakes."""
    group = nodes.tgroup("", *(nodes.colspec(colwidth=width) for width in (1, 2)), cols=2)
    group += nodes.thead("", row(HEADER))
    group += nodes.tbody("", *(row((m.name, m.hint)) for m in check.mistakes))
    return nodes.table("", group)


def row(cells: Iterable[str]) -> nodes.row:
    """Return a row of plain text."""
    return nodes.row("", *(nodes.entry("", nodes.paragraph("", text)) for text in cells))


def setup(app: Sphinx) -> None:
    """Register the directive."""
    app.add_directive("mistakes", MistakesDirective)
