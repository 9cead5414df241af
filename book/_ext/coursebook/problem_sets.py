"""Problem sets in the book: the `{problem-set}` role, and the notebooks that it leads to.

    {problem-set}`ps1` asks you to write all of this yourself.

The role names the set and offers its notebook, as students get it: to download, or to open where
the course says. Where files are handed out with it, that is a zip file of a folder that holds all.
No page leads to the folder with the answers, and nothing of it is in the book.
"""

import re
from html import escape
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxRole

from autograder.authoring.course import Course, find_course
from autograder.authoring.edition import packed
from autograder.authoring.notebooks import as_text
from autograder.authoring.release import ReleasedSet
from autograder.handed_out import FOLDER as FILES
from autograder.handed_out import read_files

from .assets import ROOT
from .settings import WebSettings

FOLDER = "problem_sets"


def course() -> Course:
    """Return the course that the book belongs to."""
    return find_course(ROOT / "assignments")


def title(name: str) -> str:
    """Return what a set is called in prose: "Problem set 1" for ps1.

    Raises:
        ValueError: the name is not that of a numbered set.
    """
    number = re.fullmatch(r"ps(\d+)", name)
    if number is None:
        raise ValueError(f"{name!r} is no problem set; write it as ps1")
    return f"Problem set {number[1]}"


def links(name: str, to_top: str, web: WebSettings) -> str:
    """Return the HTML of a set's links.

    Args:
        to_top: the way from the page to the top of the book, as "../".
    """
    files = read_files(course().source(name).with_name(FILES))
    offered = f"{name}.zip" if files else f"{name}.ipynb"
    found = [f'<a href="{to_top}{FOLDER}/{offered}" download="{offered}">{offered}</a>']
    if files:  # which are not there where only the notebook is opened
        return found[0]
    for label, address in web.notebook_links(name, FOLDER).items():
        found.append(f'<a href="{escape(address)}">{label}</a>')
    return ", ".join(found)


class ProblemSetRole(SphinxRole):
    """Name a set and offer its notebook."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Return the set's title and its links; a set that the course has not is an error."""
        if self.text not in course().sets():
            known = ", ".join(course().sets())
            message = f"no problem set {self.text!r}; there are: {known}"
            return [], [self.inliner.reporter.error(message, line=self.lineno)]
        to_top = "../" * self.env.docname.count("/")
        html = links(self.text, to_top, WebSettings(**self.config.coursebook_web))
        name = nodes.strong("", title(self.text))
        return [name, nodes.raw("", f" ({html})", format="html")], []


def write_notebooks(app: Sphinx, exception: Exception | None) -> None:
    """Write the released notebooks beside the finished pages."""
    if exception or app.builder.format != "html":
        return
    folder = Path(app.outdir) / FOLDER
    folder.mkdir(exist_ok=True)
    for name in course().sets():
        made = ReleasedSet(course(), name).notebooks
        notebook = as_text(made.student)
        if made.files:
            all_files = {**made.files, f"{name}.ipynb": notebook.encode()}
            (folder / f"{name}.zip").write_bytes(packed(all_files, name))
        else:
            (folder / f"{name}.ipynb").write_text(notebook, encoding="utf-8")


def setup(app: Sphinx) -> None:
    """Register the role, and write the notebooks at the end."""
    app.add_role("problem-set", ProblemSetRole())
    app.connect("build-finished", write_notebooks)
