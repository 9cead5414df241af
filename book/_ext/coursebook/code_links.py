"""Give sphinx-codeautolink, which links the names in code cells, the input it expects."""

from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

from .notebooks import has_code


def replace_untitled_sections(app: Sphinx, doctree: nodes.document) -> None:
    """Turn each section that does not begin with a title into a container.

    Exercises, solutions and proofs wrap their words in such sections, all with the same id. That
    repeats ids on a page, and the linking of code, which counts titles, breaks on them.
    """
    for section in list(doctree.findall(nodes.section)):
        if not isinstance(section.next_node(), nodes.title):
            section.replace_self(nodes.container("", *section.children, classes=["lm-words"]))


def remove_pages(app: Sphinx) -> None:
    """Remove each finished page with code, so that it counts as out of date.

    Links are put only into pages that are out of date before anything has been read, while a
    page is also written again when, say, the package has changed under its cells.
    """
    for source in Path(app.srcdir).rglob("*.md"):
        page = (Path(app.outdir) / source.relative_to(app.srcdir)).with_suffix(".html")
        if page.exists() and has_code(source):
            page.unlink()


def read_again(
    app: Sphinx, env: BuildEnvironment, added: set[str], changed: set[str], removed: set[str]
) -> list[str]:
    """Read each page with code at every build; its cells still come from the cache.

    From build to build, the names found in a page are remembered only for .rst pages.
    """
    return [name for name in env.found_docs if has_code(Path(env.doc2path(name)))]


def setup(app: Sphinx) -> None:
    """Run before the links are looked for, which has the priority 490 and above."""
    app.connect("builder-inited", remove_pages, priority=100)
    app.connect("doctree-read", replace_untitled_sections, priority=100)
    app.connect("env-get-outdated", read_again)
