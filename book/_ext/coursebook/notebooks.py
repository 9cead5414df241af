"""Offer each page that has code cells as a clean notebook.

The notebook has no outputs, its directives are reduced to plain Markdown, and its first cell
installs the companion package where it is missing, so it runs in a hosted notebook too.
"""

import json
import tomllib
from html import escape
from pathlib import Path
from typing import Any

import jupytext
import nbformat
from sphinx.application import Sphinx

from .plain_markdown import reduce_to_markdown
from .settings import SETTINGS, WebSettings
from .slides import has_deck

INSTALL = """\
# Installs the course's package where it is missing, as in a hosted notebook: from its file beside
# this notebook, else from the course's address.
import importlib.util
import subprocess
import sys
from pathlib import Path

ADDRESS = {address}
if importlib.util.find_spec("course_pkg") is None:
    files = sorted(map(str, Path().glob("language_models_by_hand-*.whl")))
    source = f"{files[-1]}[course]" if files else ADDRESS
    command = [sys.executable, "-m", "pip", "install", "--quiet", source]
    if not source or subprocess.run(command, check=False).returncode:
        raise ImportError(
            f'Run  %pip install "{source}"  in a new cell, which says what is wrong.'
            if source
            else "Put the package's file language_models_by_hand-...-any.whl, which `make wheel` "
            "in the course's folder makes, beside this notebook and run this cell again."
        )"""
GLUE = "from myst_nb import glue"
NO_GLUE = """\
def glue(name, value, display=False):  # in the book, it puts the value into the text
    pass"""
ABOUT = """\
*From the book* Language Models by Hand. *Text and figures: CC BY 4.0. Code: Apache 2.0.*"""


def has_code(source: Path) -> bool:
    """Whether a page runs code."""
    return source.suffix == ".md" and "```{code-cell}" in source.read_text(encoding="utf-8")


def package_address(settings: Path = SETTINGS) -> str:
    """What `pip install` takes for the package, as the course states it for its problem sets, too.

    Empty where it states nothing.
    """
    if not settings.is_file():
        return ""
    loaded = tomllib.loads(settings.read_text(encoding="utf-8"))
    return str(loaded.get("package", {}).get("address", ""))


def clean_notebook(source: Path, address: str = "", page: str = "") -> nbformat.NotebookNode:
    """Return the notebook of one page, the same at every build.

    Args:
        address: what `pip install` takes for the package.
        page: where the page can be read, if that is known; links lead on from there.
    """
    notebook = jupytext.read(source, fmt="md:myst")
    cells = [
        nbformat.v4.new_markdown_cell(ABOUT),
        nbformat.v4.new_code_cell(INSTALL.replace("{address}", json.dumps(address))),
    ]
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = reduce_to_markdown(cell.source, page)
        cell.source = cell.source.replace(GLUE, NO_GLUE)
        if cell.source.strip():
            cells.append(cell)
    for number, cell in enumerate(cells):
        cell["id"] = f"{source.stem.replace('_', '-')}-{number}"
        cell.metadata = nbformat.from_dict({"tags": cell.metadata.get("tags", [])})
    return nbformat.v4.new_notebook(
        cells=cells,
        metadata={
            "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"},
            "language_info": {"name": "python"},
        },
    )


def write_notebooks(app: Sphinx, exception: Exception | None) -> None:
    """Write the notebooks beside the finished pages."""
    if exception or app.builder.format != "html":
        return
    for docname in sorted(app.env.found_docs):
        source = Path(app.env.doc2path(docname))
        if has_code(source):
            target = Path(app.outdir) / "notebooks" / f"{source.stem}.ipynb"
            target.parent.mkdir(exist_ok=True)
            book = app.config.coursebook_web["address"]
            page = f"{book}{docname}.html" if book else ""
            nbformat.write(clean_notebook(source, app.config.coursebook_package, page), target)


def add_link(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: object
) -> None:
    """Put notebook and slides under the page's title; the notebook also where the course says."""
    source = Path(app.env.doc2path(pagename)) if pagename in app.env.found_docs else None
    if source is None or not has_code(source):
        return
    url = context["pathto"](f"notebooks/{source.stem}.ipynb", 1)
    links = [f'<a href="{url}" download="{source.stem}.ipynb">Download this page as a notebook</a>']
    if has_deck(source.stem):
        deck = context["pathto"](f"slides/{source.stem}.html", 1)
        links.append(f'<a href="{deck}">Slides of the lecture</a>')
    web = WebSettings(**app.config.coursebook_web)
    for label, address in web.notebook_links(source.stem).items():
        links.append(f'<a href="{escape(address)}">{label}</a>')
    actions = f'<p class="lm-actions">{" ".join(links)}</p>'
    context["body"] = context["body"].replace("</h1>", f"</h1>\n{actions}", 1)


def setup(app: Sphinx) -> None:
    """Link while the pages are written, write the notebooks at the end."""
    app.add_config_value("coursebook_package", package_address(), "html")
    app.connect("html-page-context", add_link)
    app.connect("build-finished", write_notebooks)
