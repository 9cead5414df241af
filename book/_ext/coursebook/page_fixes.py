"""Repair finished pages where the theme has no option for it.

The pages are changed as text, since parsing hundreds of them is slow. The patterns fit the order of
attributes that the theme writes and, where links were put in, the alphabet. The changes can be
applied twice without harm, as an incremental build does.
"""

import html
import re
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

UNWANTED_SCRIPT = re.compile(r"thebe|fontawesome", re.IGNORECASE)

LOADED = re.compile(r"<script\b[^>]*>.*?</script>|<link\b[^>]*>", re.DOTALL)
LABEL = re.compile(
    r'(?P<before><(?P<tag>button|summary)\b[^>]*?) aria-label="(?P<label>[^"]*)"'
    r"(?P<after>[^>]*>(?P<words>.*?)</(?P=tag)>)",
    re.DOTALL,
)
TAG = re.compile(r"<[^>]+>")
TOGGLE = re.compile(r'<summary>(?=\s*<span\b[^>]*class="toctree-toggle")')
SIDEBAR = re.compile(r'<div\b(?=[^>]*class="bd-sidebar-primary\b)(?![^>]*role=)')
SIGNATURE = re.compile(r'<dt class="sig\b.*?</dt>', re.DOTALL)
BACK_LINK = re.compile(
    r'(?P<before><div class="viewcode-block" id="(?P<name>[^"]+)">\s*'
    r'<a class="viewcode-back" href=")'
    r'(?P<page>(?:[^"#]*/)?(?P<module>[^"#/]*)\.html)#[^"]*'
)


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


def fix_page(page: str) -> str:
    """Return the page with scripts, accessible names, markup and links in order."""
    page = LOADED.sub(lambda found: "" if UNWANTED_SCRIPT.search(found[0]) else found[0], page)
    return fix_source_links(fix_markup(fix_names(page)))


def fix_names(page: str) -> str:
    """Give each control and landmark the name that a reader sees, or one that says what it does."""
    page = LABEL.sub(_without_hiding_label, page)
    page = TOGGLE.sub('<summary aria-label="Pages of this part">', page)
    return SIDEBAR.sub('<div role="navigation" aria-label="Book"', page)


def _without_hiding_label(found: re.Match[str]) -> str:
    """Drop a label that does not contain the visible words: it hides them from voice control."""
    words = " ".join(html.unescape(TAG.sub(" ", found["words"])).split())
    hides = words and words.lower() not in html.unescape(found["label"]).lower()
    return found["before"] + found["after"] if hides else found[0]


def fix_markup(page: str) -> str:
    """Repair elements that stand where HTML or ARIA does not allow them."""
    page = re.sub(r"<h1>\s*</h1>", "", page)
    # Every exercise and proof of a page gets the same id, to which nothing links.
    page = re.sub(r' id="(exercise|solution|proof)-content"', "", page)
    page = page.replace('role="doc-biblioentry"', 'role="listitem"')
    page = SIGNATURE.sub(lambda found: _with_spans(found[0]), page)
    # The theme's script looks for this sidebar wherever there is a margin note.
    if 'class="bd-sidebar-secondary' not in page:
        sidebar = '<div class="bd-sidebar-secondary" hidden=""></div>'
        page = page.replace("</body>", f"{sidebar}</body>")
    return page


def _with_spans(signature: str) -> str:
    """Write a long signature, a definition list inside a term, as lines."""
    for name, style in (("dl", "sig-lines"), ("dd", "sig-line")):
        signature = signature.replace(f"<{name}>", f'<span class="{style}">')
        signature = signature.replace(f"</{name}>", "</span>")
    return signature


def fix_source_links(page: str) -> str:
    """Let source pages link back to the name that the reference page of their module has.

    A name that is re-exported is documented twice, and the link mixes the two.
    """
    page = BACK_LINK.sub(r"\g<before>\g<page>#\g<module>.\g<name>", page)
    return re.sub(r'<li><a href="builtins.html">.*?</li>', "", page)  # listed, but never written


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
