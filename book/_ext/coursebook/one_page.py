"""Put the finished site on one page without scripts, to be printed or cut into an e-book.

The pages are taken from the built site, in the order of its contents, so no cell runs again. What
answers to a click has no place on paper: an interactive figure becomes its table, with the address
where it can be used; quizzes and exercises have their answers at the end of their page; code that
is folded up on the site is left out.
"""

import html
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from posixpath import join, normpath
from urllib.parse import unquote

from bs4 import BeautifulSoup, Tag

UNWANTED = (
    "script, style, .headerlink, .lm-actions, .lm-status, details.hide, .toctree-wrapper, "
    "a:has(.viewcode-link), .viewcode-back, .copybtn"
)
REFERENCES = ("for", "headers", "aria-labelledby", "aria-describedby")
CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")  # what XML does not allow
LETTERS = "abcdefgh"
ROWS_OF_STILL = 12
"""So many rows of an interactive figure's table are kept: the rest is in the browser."""
API_PAGES = "back/api/course_pkg"
"""What the pages begin with that are made from docstrings: a reference to be searched, not read."""


@dataclass(frozen=True)
class Page:
    """One page of the site.

    Attributes:
        name: its address below the site, without ending, as chapters/ngrams.
        part: the heading that it stands under in the contents; empty for the first page.
        title: as the contents have it, with its number.
        article: what stands between the sidebars.
    """

    name: str
    part: str
    title: str
    article: Tag

    @property
    def key(self) -> str:
        """The page's name as the id of an element."""
        return self.name.replace("/", "-")


def contents(site: Path) -> Iterator[tuple[str, str, str]]:
    """Yield name, part and title of each page, as the sidebar of the first page lists them.

    Raises:
        FileNotFoundError: the book has not been built.
    """
    first = BeautifulSoup((site / "index.html").read_text(encoding="utf-8"), "lxml")
    part = ""
    for tag in first.select("nav.bd-links p.caption, nav.bd-links a.internal"):
        if tag.name == "p":
            part = tag.get_text(strip=True)
        else:
            address = "index.html" if tag["href"] == "#" else tag["href"]
            yield address.removesuffix(".html"), part, tag.get_text(" ", strip=True)


def read_pages(site: Path, only: Collection[str] | None = None) -> list[Page]:
    """Read the pages of a built book, or only those named, in their order; none of the API."""
    pages = []
    for name, part, title in contents(site):
        if name.startswith(API_PAGES) or (only and name not in only):
            continue
        text = CONTROL.sub("", (site / f"{name}.html").read_text(encoding="utf-8"))
        article = BeautifulSoup(text, "lxml").select_one("article.bd-article")
        pages.append(Page(name, part, title, article))
    return pages


def tag_of(markup: str) -> Tag:
    """Return the element that some HTML describes."""
    return BeautifulSoup(markup, "html.parser").find()


def moved_in(name: str, attributes: str, tag: Tag) -> Tag:
    """Return a new element with all that stands in another, which is left empty."""
    new = tag_of(f"<{name} {attributes}></{name}>")
    new.extend(list(tag.children))
    return new


def make_still(page: Page, address: str) -> None:
    """Turn what can be opened or used into what can be read."""
    article = page.article
    for tag in article.select(UNWANTED):
        tag.decompose()
    where = html.escape(f"{address}{page.name}.html")
    where = f'<a href="{where}">{where}</a>' if address else where
    for tag in article.select(".lm-site-only"):
        title = html.escape(tag.select_one(".admonition-title").get_text(strip=True))
        tag.replace_with(tag_of(f'<p class="lm-where">{title}: in the browser, {where}</p>'))
    for tag in article.find_all(lambda tag: tag.name.startswith("lm-") and tag.name != "lm-quiz"):
        if not tag.find_parent(class_="lm-still"):
            still = moved_in("div", 'class="lm-still"', tag)
            for summary in still.select("summary"):
                summary.decompose()
            for table in still.select("tbody"):
                _shorten(table)
            said = f'<p class="lm-where">Interactive in the browser: {where}</p>'
            still.append(tag_of(said))
            tag.replace_with(still)
    for tag in article.select("summary svg"):  # the arrow of what opens
        tag.decompose()
    for tag in article.find_all("summary"):
        tag.replace_with(moved_in("p", 'class="lm-summary"', tag))
    for tag in article.find_all("details"):
        tag.replace_with(moved_in("div", 'class="lm-opened"', tag))


def _shorten(table: Tag) -> None:
    rows = table.find_all("tr", recursive=False)
    for row in rows[ROWS_OF_STILL:]:
        row.decompose()
    if len(rows) > ROWS_OF_STILL:
        n_columns = len(rows[0].find_all(["td", "th"]))
        left = f"and {len(rows) - ROWS_OF_STILL} more rows"
        table.append(tag_of(f'<tr><td colspan="{n_columns}">{left}</td></tr>'))


def gather_answers(page: Page) -> None:
    """Move the answers to quizzes and exercises to the end of the page."""
    answers = []
    for number, quiz in enumerate(page.article.select("lm-quiz"), 1):
        choices, reasons = [], []
        for letter, option in zip(LETTERS, quiz.select(".lm-option"), strict=False):
            choices.append(f"<li>{option.select_one('label > span').decode_contents()}</li>")
            why = option.select_one(".lm-why")
            first = why.find("p")
            first.insert(0, tag_of(f"<span>({letter}) </span>"))
            reasons.append(why.decode_contents())
        quiz_id = f"question-{number}"
        answers.append(
            f'<div class="lm-answer" id="answer-{number}"><p class="lm-summary">'
            f'<a href="#{quiz_id}">Question {number}</a></p>{"".join(reasons)}</div>'
        )
        question = quiz.select_one("legend").decode_contents()
        quiz.replace_with(
            tag_of(
                f'<div class="lm-question" id="{quiz_id}"><p><b>'
                f'<a href="#answer-{number}">Question {number}.</a></b> {question}</p>'
                f'<ol class="lm-letters" type="a">{"".join(choices)}</ol></div>'
            )
        )
    for solution in page.article.select(".solution"):
        exercise = solution.find_previous(class_="exercise")
        name = exercise.select_one(".caption-number").get_text(strip=True)
        title = solution.select_one(".admonition-title")
        title.replace_with(
            tag_of(f'<p class="lm-summary"><a href="#{exercise["id"]}">{name}</a></p>')
        )
        exercise.append(tag_of(f'<p class="lm-where"><a href="#{solution["id"]}">Solution</a></p>'))
        solution["class"] = "lm-answer"
        answers.append(str(solution.extract()))
    if answers:
        section = f'<section id="answers"><h2>Answers</h2>{"".join(answers)}</section>'
        page.article.append(tag_of(section))


def identifier(page: Page | str, anchor: str) -> str:
    """Return what an anchor of a page is called where all pages are one."""
    key = page if isinstance(page, str) else page.key
    return f"{key}--{re.sub(r'[^A-Za-z0-9._-]', '-', anchor)}"


def anchors(page: Page) -> set[str]:
    """Return the ids of a page."""
    return {tag["id"] for tag in page.article.select("[id]")}


def join_links(pages: list[Page], address: str) -> None:
    """Give every page ids of its own, and let links lead to them, or to the site, or nowhere."""
    known = {page.name: (page, anchors(page)) for page in pages}
    for page in pages:
        for tag in page.article.select("a[href]"):
            target = _target(tag["href"], page, known, address)
            if target:
                tag["href"] = target
            else:
                tag.name, tag.attrs = "span", {}
        seen: set[str] = set()
        for tag in page.article.find_all(True):
            if tag.get("id") in seen:  # a theorem's box and its title have the same one
                del tag["id"]
            seen.add(tag.get("id"))
            _rename(tag, page)


def _target(
    link: str, page: Page, known: dict[str, tuple[Page, set[str]]], address: str
) -> str | None:
    """Return where a link leads from the one page; None if that is neither here nor on the web."""
    if re.match(r"[a-z]+:", link):
        return link
    path, _, anchor = link.partition("#")
    path = normpath(join(str(PurePosixPath(page.name).parent), path)) if path else page.name
    anchor = unquote(anchor)
    name = path.removesuffix(".html")
    if name in known:
        there, ids = known[name]
        return f"#{identifier(there, anchor)}" if anchor in ids else f"#{there.key}"
    return f"{address}{path}" + (f"#{anchor}" if anchor else "") if address else None


def _rename(tag: Tag, page: Page) -> None:
    """Rename an element's id, and the ids that its attributes name."""
    if tag.has_attr("id"):
        tag["id"] = identifier(page, tag["id"])
    for name in REFERENCES:
        if tag.has_attr(name):
            words = tag[name].split() if isinstance(tag[name], str) else tag[name]
            tag[name] = " ".join(identifier(page, word) for word in words)
    for name, value in tag.attrs.items():
        if isinstance(value, str) and "url(#" in value:
            tag[name] = re.sub(
                r"url\(#([^)]+)\)", lambda found: f"url(#{identifier(page, found[1])})", value
            )
    if tag.name != "a":
        for name in ("href", "xlink:href"):
            if str(tag.get(name, "")).startswith("#"):
                tag[name] = f"#{identifier(page, tag[name][1:])}"


def lower_headings(page: Page) -> None:
    """Make each heading one level lower: the parts of the book stand above its pages."""
    for level in (5, 4, 3, 2, 1):
        for tag in page.article.find_all(f"h{level}"):
            tag.name = f"h{level + 1}"


def prepare(site: Path, address: str = "", only: Collection[str] | None = None) -> list[Page]:
    """Return the pages of a built book, ready to stand on one page.

    Args:
        address: of the book on the web, ending in a slash; empty if it is nowhere.
        only: names of the pages to take; all if none are named.
    """
    pages = read_pages(site, only)
    for page in pages:
        make_still(page, address)
        gather_answers(page)
    join_links(pages, address)
    for page in pages:
        lower_headings(page)
        for image in page.article.select("img[src]"):  # from the site to the folder beside it
            folder = PurePosixPath("..", site.name, page.name).parent
            image["src"] = normpath(join(str(folder), image["src"]))
    return pages
