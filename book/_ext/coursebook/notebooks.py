"""Offer each page that has code cells as a clean notebook.

The notebook has no outputs, its directives are reduced to plain Markdown, and its first cell
installs the companion package where it is missing, so it runs in a hosted notebook too.
"""

from importlib.metadata import version
from pathlib import Path
from typing import Any

import jupytext
import nbformat
from sphinx.application import Sphinx

from .plain_markdown import reduce_to_markdown

PACKAGE = f"language-models-by-hand=={version('language-models-by-hand')}"
INSTALL = """\
# Installs the course's package where it is missing, as in a hosted notebook.
import importlib.util
import subprocess
import sys

if importlib.util.find_spec("course_pkg") is None:
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "{package}"], check=True)"""
ABOUT = """\
*From the book* Language Models by Hand. *Text and figures: CC BY 4.0. Code: Apache 2.0.*"""


def has_code(source: Path) -> bool:
    """Whether a page runs code."""
    return source.suffix == ".md" and "```{code-cell}" in source.read_text(encoding="utf-8")


def clean_notebook(source: Path, package: str = PACKAGE) -> nbformat.NotebookNode:
    """Return the notebook of one page, the same at every build."""
    notebook = jupytext.read(source, fmt="md:myst")
    cells = [
        nbformat.v4.new_markdown_cell(ABOUT),
        nbformat.v4.new_code_cell(INSTALL.format(package=package)),
    ]
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = reduce_to_markdown(cell.source)
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
            nbformat.write(clean_notebook(source, app.config.coursebook_package), target)


def add_link(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: object
) -> None:
    """Put the download link under the page's title."""
    source = Path(app.env.doc2path(pagename)) if pagename in app.env.found_docs else None
    if source is None or not has_code(source):
        return
    url = context["pathto"](f"notebooks/{source.stem}.ipynb", 1)
    link = (
        f'<p class="lm-actions"><a href="{url}" download="{source.stem}.ipynb">'
        "Download this page as a notebook</a></p>"
    )
    context["body"] = context["body"].replace("</h1>", f"</h1>\n{link}", 1)


def setup(app: Sphinx) -> None:
    """Link while the pages are written, write the notebooks at the end."""
    app.add_config_value("coursebook_package", PACKAGE, "html")
    app.connect("html-page-context", add_link)
    app.connect("build-finished", write_notebooks)
