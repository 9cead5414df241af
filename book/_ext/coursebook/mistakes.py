"""The `{mistakes}` directive: every misconception that the problem sets know, with its hint.

    ```{mistakes}
    ```

The rows are read from the sets themselves, so that the page cannot differ from what is graded, and
a new set has its tables as soon as there is one.
"""

from collections.abc import Iterable

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.docutils import SphinxDirective

from autograder.authoring.checks import Check
from autograder.authoring.course import Course, find_course

from .assets import ROOT

HEADER = ("misconception", "what the student reads")


class MistakesDirective(SphinxDirective):
    """Write one table for each item, folded up by set."""

    def run(self) -> list[nodes.Node]:
        """Return a folded box for each set: for each item, its name and a table."""
        course = find_course(ROOT / "assignments")
        pages = self.env.__dict__.setdefault("sets_with_mistakes", {})
        pages[self.env.docname] = course.sets()
        return [self._set(course, name) for name in course.sets()]

    def _set(self, course: Course, name: str) -> nodes.admonition:
        for path in course.check_files(name):
            self.env.note_dependency(str(path))
        problem_set = course.problem_set(name)
        box = nodes.admonition("", nodes.title("", f"{name}, {problem_set.title}"))
        box["classes"] += ["dropdown", "lm-site-only"]  # fifty pages, were they printed
        for check in problem_set.checks:
            box += [title(check), table(check)]
        return box


def outdated(app: Sphinx, env: BuildEnvironment, *_: object) -> list[str]:
    """Name the pages to be read again because a set was added or removed since."""
    sets = find_course(ROOT / "assignments").sets()
    pages: dict[str, tuple[str, ...]] = getattr(env, "sets_with_mistakes", {})
    return [page for page, known in pages.items() if known != sets]


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
    app.connect("env-get-outdated", outdated)
