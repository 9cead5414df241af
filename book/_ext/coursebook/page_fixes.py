"""Repair finished pages where the theme has no option for it.

The changes are made on the parsed page, since other extensions rewrite pages in their own way,
and they can be applied twice without harm, as an incremental build does.
"""

import re
from pathlib import Path
from typing import Any

from bs4 import BeautifulSoup
from sphinx.application import Sphinx

UNWANTED_SCRIPT = re.compile(r"thebe|fontawesome", re.IGNORECASE)


def drop_thebe(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: object
) -> None:
    """Leave out live-code scripts: they come from another host and run twice on each page."""
    for kind in ("script_files", "css_files"):
        context[kind] = [
            file
            for file in context[kind]
            if not UNWANTED_SCRIPT.search(f"{file} {getattr(file, 'attributes', '')}")
        ]


def fix_page(html: str) -> str:
    """Return the page with scripts, accessible names, markup and links in order."""
    page = BeautifulSoup(html, "html.parser")
    for tag in page.find_all(["script", "link"]):
        if UNWANTED_SCRIPT.search(f"{tag.get('src')} {tag.get('href')} {tag.string or ''}"):
            tag.decompose()
    fix_names(page)
    fix_markup(page)
    fix_source_links(page)
    return str(page)


def fix_names(page: BeautifulSoup) -> None:
    """Give each control and landmark the name that a reader sees, or one that says what it does."""
    # A label that does not contain the visible words hides them from voice control.
    for tag in page.select("button[aria-label], summary[aria-label]"):
        words = tag.get_text(" ", strip=True)
        if words and words.lower() not in tag["aria-label"].lower():
            del tag["aria-label"]
    for tag in page.select("summary:has(> .toctree-toggle)"):
        tag["aria-label"] = "Pages of this part"
    for sidebar in page.select(".bd-sidebar-primary"):
        sidebar["role"] = "navigation"
        sidebar["aria-label"] = "Book"


def fix_markup(page: BeautifulSoup) -> None:
    """Repair elements that stand where HTML or ARIA does not allow them."""
    for heading in page.select("#jb-print-docs-body h1"):
        if not heading.get_text(strip=True):
            heading.decompose()
    # Every exercise and proof of a page gets the same id, to which nothing links.
    for content in page.select("#exercise-content, #solution-content, #proof-content"):
        del content["id"]
    for entry in page.select('[role="doc-biblioentry"]'):
        entry["role"] = "listitem"
    # A long signature is written as a definition list inside a term.
    for lines in page.select("dt.sig dl"):
        for line in lines.find_all("dd", recursive=False):
            line.name, line["class"] = "span", "sig-line"
        lines.name, lines["class"] = "span", "sig-lines"
    # The theme's script looks for this sidebar wherever there is a margin note.
    if page.body and not page.select_one("div.bd-sidebar-secondary"):
        page.body.append(page.new_tag("div", attrs={"class": "bd-sidebar-secondary", "hidden": ""}))


def fix_source_links(page: BeautifulSoup) -> None:
    """Let source pages link back to the name that the reference page of their module has.

    A name that is re-exported is documented twice, and the link mixes the two.
    """
    for link in page.select(".viewcode-block[id] > a.viewcode-back"):
        target = link["href"].partition("#")[0]
        module = target.rpartition("/")[2].removesuffix(".html")
        link["href"] = f"{target}#{module}.{link.parent['id']}"
    for link in page.select('a[href="builtins.html"]'):  # listed, but never written
        link.parent.decompose()


def fix_site(app: Sphinx, exception: Exception | None) -> None:
    """Fix every page, and drop the icon script whose icons also come as a font."""
    if exception or app.builder.format != "html":
        return
    out = Path(app.outdir)
    for script in (out / "_static").rglob("fontawesome.js*"):
        script.unlink()
    for path in out.rglob("*.html"):
        if "_static" not in path.relative_to(out).parts:
            text = path.read_text(encoding="utf-8")
            fixed = fix_page(text)
            if fixed != text:
                path.write_text(fixed, encoding="utf-8")


def setup(app: Sphinx) -> None:
    """Run after every other extension has written its pages."""
    app.connect("html-page-context", drop_thebe, priority=900)
    app.connect("build-finished", fix_site, priority=900)
