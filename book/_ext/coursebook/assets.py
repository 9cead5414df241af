"""Serve every script, style and font from this repository, so that the book works offline.

Jupyter Book puts each .js and .css below `book/_static` on every page. Ours therefore live in
`book/_assets` and `third_party`, and are loaded here: the base on every page, an interactive
element's script only where the element stands.
"""

import shutil
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parents[3]
ASSETS = ROOT / "book" / "_assets"
MATHJAX = ROOT / "third_party" / "mathjax"


def copy_assets(app: Sphinx) -> None:
    """Copy our assets and MathJax into the site before any page refers to them."""
    if app.builder.format != "html":
        return
    static = Path(app.outdir) / "_static"
    shutil.copytree(ASSETS, static, dirs_exist_ok=True)
    shutil.copytree(MATHJAX, static / "mathjax", dirs_exist_ok=True)


def load_elements(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: object
) -> None:
    """Load the script of each custom element that stands on this page."""
    body = context.get("body", "")
    for script in sorted(ASSETS.glob("lm-*.js")):
        if f"<{script.stem}" in body:
            app.add_js_file(script.name, loading_method="defer")


def setup(app: Sphinx) -> None:
    """Copy before reading, load per page."""
    app.connect("builder-inited", copy_assets)
    app.connect("html-page-context", load_elements)
    app.add_css_file("coursebook.css")
    app.add_js_file("lm-base.js", loading_method="defer")
