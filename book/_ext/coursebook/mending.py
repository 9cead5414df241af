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


def mend(html: str) -> str:
    """Return the page with its accessible names and landmarks in order."""
    page = BeautifulSoup(html, "html.parser")
    for tag in page.find_all(["script", "link"]):
        if UNWANTED_SCRIPT.search(f"{tag.get('src')} {tag.get('href')} {tag.string or ''}"):
            tag.decompose()
    # A label that does not contain the visible words hides them from voice control.
    for tag in page.select("button[aria-label], summary[aria-label]"):
        words = tag.get_text(" ", strip=True)
        if words and words.lower() not in tag["aria-label"].lower():
            del tag["aria-label"]
    for sidebar in page.select("#pst-primary-sidebar, .bd-sidebar-primary"):
        sidebar["role"] = "navigation"
        sidebar["aria-label"] = "Book"
    # The theme's script looks for this sidebar wherever there is a margin note.
    if page.body and not page.select_one("div.bd-sidebar-secondary"):
        page.body.append(page.new_tag("div", attrs={"class": "bd-sidebar-secondary", "hidden": ""}))
    return str(page)


def mend_site(app: Sphinx, exception: Exception | None) -> None:
    """Mend every page, and drop the icon script whose icons also come as a font."""
    if exception or app.builder.format != "html":
        return
    out = Path(app.outdir)
    for script in (out / "_static").rglob("fontawesome.js*"):
        script.unlink()
    for path in out.rglob("*.html"):
        if "_static" not in path.relative_to(out).parts:
            text = path.read_text(encoding="utf-8")
            mended = mend(text)
            if mended != text:
                path.write_text(mended, encoding="utf-8")


def setup(app: Sphinx) -> None:
    """Run after every other extension has written its pages."""
    app.connect("html-page-context", drop_thebe, priority=900)
    app.connect("build-finished", mend_site, priority=900)
