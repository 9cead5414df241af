"""Make what is not a section no section.

The directives of exercises, solutions and proofs wrap their words in a section without a title,
all with the same id. That repeats ids on a page and breaks the linking of code, which counts
titles; a plain container does the same job.
"""

from docutils import nodes
from sphinx.application import Sphinx


def replace_untitled(app: Sphinx, doctree: nodes.document) -> None:
    """Turn each section that does not begin with a title into a container."""
    for section in list(doctree.findall(nodes.section)):
        if not isinstance(section.next_node(), nodes.title):
            section.replace_self(nodes.container("", *section.children, classes=["lm-words"]))


def setup(app: Sphinx) -> None:
    """Run before code is linked, which has the priority 490."""
    app.connect("doctree-read", replace_untitled, priority=100)
