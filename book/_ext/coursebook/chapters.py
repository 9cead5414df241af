"""What follows from the chapters' own front matter: their table, and the glossary.

A chapter states under `chapter` what it adds, what is still missing after it, and how many minutes
it takes to read; under `terms`, the words that it introduces, each with its definition; other
pages may state terms as well. The `{chapters}` directive writes the table of all chapters in the
order of the contents, the `{terms}` directive the glossary. What a chapter reaches is the best
result that it has measured.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import yaml
from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from course_pkg.results import chapter_results

from .assets import ROOT

BOOK = ROOT / "book"
FRONT_MATTER = re.compile(r"\A---\n(.*?)^---\n", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Chapter:
    """What a chapter says about itself.

    Attributes:
        path: its file, relative to the book.
        adds: the one idea that it adds.
        missing: what the next chapter begins with.
        minutes: time to read it.
        terms: definition of each term that it introduces, in Markdown.
    """

    path: str
    adds: str
    missing: str
    minutes: int
    terms: dict[str, str]

    @classmethod
    def read(cls, path: str, book: Path = BOOK) -> "Chapter":
        """Read the front matter of a chapter.

        Raises:
            ValueError: it lacks a field; the message names file and field.
        """
        found = FRONT_MATTER.match((book / path).read_text(encoding="utf-8"))
        fields = (yaml.safe_load(found[1]) or {}) if found else {}
        stated = fields.get("chapter", {})
        for name in ("adds", "missing", "minutes"):
            if not stated.get(name):
                raise ValueError(f"{path} has no {name!r} under `chapter:` in its front matter")
        terms = {term: " ".join(text.split()) for term, text in fields.get("terms", {}).items()}
        return cls(path, stated["adds"], stated["missing"], stated["minutes"], terms)

    def reached(self) -> float | int | None:
        """Return the lowest perplexity that the chapter's models reach on the stories, if any."""
        return min(
            (
                row.perplexity
                for row in chapter_results(Path(self.path).stem)
                if row.corpus == "stories" and row.n_parameters and "over" not in row.model
            ),
            default=None,
        )


def read_chapters(book: Path = BOOK) -> list[Chapter]:
    """Return the chapters in the order of the table of contents."""
    contents = yaml.safe_load((book / "_toc.yml").read_text(encoding="utf-8"))
    files = (entry.get("file", "") for part in contents["parts"] for entry in part["chapters"])
    return [Chapter.read(f"{file}.md", book) for file in files if file.startswith("chapters/")]


def read_pages_with_terms(book: Path = BOOK) -> list[Chapter]:
    """Return the chapters, and after them what other pages of the contents say of terms."""
    contents = yaml.safe_load((book / "_toc.yml").read_text(encoding="utf-8"))
    files = (entry.get("file", "") for part in contents["parts"] for entry in part["chapters"])
    others = []
    for path in (f"{file}.md" for file in files if not file.startswith("chapters/")):
        found = FRONT_MATTER.match((book / path).read_text(encoding="utf-8"))
        terms = (yaml.safe_load(found[1]) or {}).get("terms", {}) if found else {}
        joined = {term: " ".join(text.split()) for term, text in terms.items()}
        others += [Chapter(path, "", "", 0, joined)] * bool(joined)
    return [*read_chapters(book), *others]


def table_of(chapters: list[Chapter]) -> list[str]:
    """Return the table of the chapters as lines of Markdown."""
    lines = [
        "| chapter | what it adds | minutes | reaches | what is still missing |",
        "|---|---|---:|---:|---|",
    ]
    for chapter in chapters:
        reached = chapter.reached()
        shown = "" if reached is None else f"{reached:.2f}"
        link = f"[](/{chapter.path})"
        lines.append(
            f"| {link} | {chapter.adds} | {chapter.minutes} | {shown} | {chapter.missing} |"
        )
    return lines


def glossary_of(chapters: list[Chapter]) -> list[str]:
    """Return the glossary of all pages' terms, in alphabetical order, as lines of Markdown.

    Raises:
        ValueError: two pages define the same term.
    """
    home: dict[str, Chapter] = {}
    for chapter in chapters:
        for term in chapter.terms:
            if term in home:
                raise ValueError(f"{home[term].path} and {chapter.path} both define {term!r}")
            home[term] = chapter
    lines = ["```{glossary}"]
    for term in sorted(home, key=str.casefold):
        lines += [term, f"  {home[term].terms[term]} ([](/{home[term].path}))", ""]
    return [*lines, "```"]


class FromChapters(SphinxDirective):
    """Write Markdown that is made from the chapters."""

    read: Callable[[Path], list[Chapter]] = staticmethod(read_chapters)
    write: Callable[[list[Chapter]], list[str]]

    def run(self) -> list[nodes.Node]:
        """Return what the lines become; the page is read again whenever a chapter changes."""
        book = Path(self.env.srcdir)
        chapters = type(self).read(book)
        for path in ("_toc.yml", *(chapter.path for chapter in chapters)):
            self.env.note_dependency(str(book / path))
        parent = nodes.container()
        lines = StringList(type(self).write(chapters), source=self.env.docname)
        self.state.nested_parse(lines, self.content_offset, parent)
        return parent.children


class ChaptersDirective(FromChapters):
    """The table of the chapters."""

    write = staticmethod(table_of)


class TermsDirective(FromChapters):
    """The glossary."""

    read = staticmethod(read_pages_with_terms)
    write = staticmethod(glossary_of)


def setup(app: Sphinx) -> None:
    """Register both directives."""
    app.add_directive("chapters", ChaptersDirective)
    app.add_directive("terms", TermsDirective)
