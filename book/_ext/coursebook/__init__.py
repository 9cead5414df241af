"""What this book needs beyond Jupyter Book, one small module per job.

assets      every script, style and font comes from this repository, never from another host
cache       executed cells are kept as long as the code they ran on is the same
api         one reference page per module of course_pkg, found by looking
docstrings  docstrings are plain text with `code`, read without surprises
quiz        the `{quiz}` directive
chapters    the table of the chapters and the glossary, from the front matter of each
folded      the line above a folded cell says what it hides
code_links  what the linking of names in code cells needs
notebooks   each chapter as a clean notebook to download
problem_sets  the `{problem-set}` role, and the sets' notebooks to download
settings    where the book and its source are on the web, as the course states it
slides      decks for lectures, made of what the chapters show
page_fixes  repairs to the finished pages that the theme gives no option for
execution   what `book/build.py` does first: cells of several pages run side by side
one_page    what `book/editions.py` prints and cuts: all pages as one, without scripts
"""

from sphinx.application import Sphinx

from . import (
    api,
    assets,
    cache,
    chapters,
    code_links,
    docstrings,
    folded,
    notebooks,
    page_fixes,
    problem_sets,
    quiz,
    settings,
    slides,
)


def setup(app: Sphinx) -> dict[str, object]:
    """Register every part."""
    own = (quiz, problem_sets, chapters)
    links = (code_links, notebooks, slides, page_fixes)
    for part in (settings, assets, cache, api, docstrings, *own, folded, *links):
        part.setup(app)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
