"""Serve every script, style and font from this repository, so that the book works offline.

Jupyter Book puts each .js and .css below `book/_static` on every page. Ours therefore live in
`book/_assets` and `third_party`, and are loaded here: the base on every page, an interactive
element's script only where the element stands. Where an element computes with a model, the engine
is loaded too, and the model's weights are written for it to fetch: of a model that others trained,
only where they are installed, and the reader may open the file from elsewhere.
"""

import re
import shutil
import subprocess
import sys
from itertools import chain
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parents[3]
ASSETS = ROOT / "book" / "_assets"
MATHJAX = ROOT / "third_party" / "mathjax"
REVEAL = ROOT / "third_party" / "reveal"
SHIPPED = ROOT / "course_pkg" / "checkpoints"
EXPORTER = ROOT / "course_pkg" / "weights" / "web_export.py"

NEEDS = {"lm-published": ("lm-kernel.js", "lm-gguf.js", "lm-gpt.js")}
"""Further scripts of an element, before its own."""

MODELS_OF_ELEMENT = re.compile(r'<lm-[\w-]+ [^>]*data-models="([^"]+)"')
"""What a widget writes about the models that it computes with."""


def copy_assets(app: Sphinx) -> None:
    """Copy our assets, MathJax and reveal.js into the site before any page refers to them."""
    if app.builder.format != "html":
        return
    static = Path(app.outdir) / "_static"
    shutil.copytree(ASSETS, static, dirs_exist_ok=True)
    shutil.unpack_archive(MATHJAX / "mathjax.zip", static / "mathjax")
    shutil.copyfile(MATHJAX / "LICENSE", static / "mathjax" / "LICENSE")
    shutil.copytree(REVEAL, static / "reveal", dirs_exist_ok=True)


def load_elements(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: object
) -> None:
    """Load the script of each custom element that stands on this page, and what it needs."""
    body = context.get("body", "")
    models = {name for names in MODELS_OF_ELEMENT.findall(body) for name in names.split()}
    if models:
        app.add_js_file("lm-engine.js", loading_method="defer")
    folder = Path(app.outdir) / "_static" / "models"
    for name in sorted(models):
        if (SHIPPED / name).is_dir():
            write_weights(name, folder)
        else:
            place_published(name, folder)
    elements = [script.stem for script in ASSETS.glob("lm-*.js") if f"<{script.stem}" in body]
    scripts = [(*NEEDS.get(element, ()), f"{element}.js") for element in sorted(elements)]
    for script in dict.fromkeys(chain.from_iterable(scripts)):  # each once
        app.add_js_file(script, loading_method="defer")


def write_weights(name: str, folder: Path) -> None:
    """Write a shipped model as a script for the engine, unless it is there and up to date."""
    source, script = SHIPPED / name, folder / f"{name}.js"
    newest = max(path.stat().st_mtime for path in [*source.iterdir(), EXPORTER])
    if not script.exists() or script.stat().st_mtime < newest:
        # In a process of its own: it needs torch, and no warning of that is one of the book.
        command = [sys.executable, "-m", "course_pkg", "export-web", str(source)]
        subprocess.run(
            [*command, "--out", str(folder)], cwd=ROOT, check=True, stdout=subprocess.DEVNULL
        )


def place_published(name: str, folder: Path) -> None:
    """Put a published model's file beside the pages, if `make published` has brought it."""
    command = [sys.executable, "-m", "course_pkg", "export-web", name, "--out", str(folder)]
    subprocess.run(command, cwd=ROOT, check=False, capture_output=True)


def setup(app: Sphinx) -> None:
    """Copy before reading, load per page."""
    app.connect("builder-inited", copy_assets)
    app.connect("html-page-context", load_elements)
    app.add_css_file("coursebook.css")
    app.add_js_file("lm-base.js", loading_method="defer")
