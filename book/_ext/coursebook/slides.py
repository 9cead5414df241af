"""Decks of slides made of what the chapters show: their figures, formulas, code and numbers.

A deck, `book/slides/<chapter>.md`, says what is shown and in which order, and what is said. What is
shown is taken from the built page of the chapter, so it cannot drift from it: a figure that has
changed changes the deck, and where the page no longer has what a slide asks for, the build ends.

    ---
    minutes: 75
    numbers:                      # found on the page by a pattern with one group
      steps: "Each further word adds (ten) operations"
    ---
    ## A title that is the claim
    At most 40 words, with {{steps}} and $x_t$.

    ::figure Two networks of two layers      the figure whose description begins so
    ::equation eq-attention-matrix           the formula with this label
    ::code def attention(                    from this line to the end of its block
    ::table step | 0, 1, 4                   the table that begins so, and which of its rows
    ::output each word to itself             what a cell has printed, from this line on
    ::live lm-random-attention               the figure that can be used
    ::ask                                    this slide puts a question to the room
    ::then                                   what is shown below waits for the next key: the answer

    ::notes 3, board 1.5                     minutes, and what fills them beside speaking (`REST`);
                                             the rest is said, and not shown

A number in a title or on a slide must stand on the page; so must one with decimals in the notes.
What is computed on the board instead is written as a formula: $0.98^{50} = 0.36$.

reveal.js shows the deck; it is in `third_party`, so nothing is fetched.
"""

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from bs4 import BeautifulSoup, Tag
from markdown_it import MarkdownIt
from mdit_py_plugins.dollarmath import dollarmath_plugin
from sphinx.application import Sphinx

from .assets import ROOT

SOURCES = ROOT / "book" / "slides"
FOLDER = "slides"
LONGEST = 40
"""Words on a slide beside its title."""
WIDEST = 92
"""Columns of a line that is not broken: letters for more could not be read in a room."""
QUESTION_EVERY = 4
WORDS_PER_MINUTE = 150
"""How fast notes are read aloud: espeak-ng, set to this, reads two decks at 148 and 136."""
SLOW_WORDS_PER_MINUTE = 130
"""Whoever speaks as slowly as this shall still end in time."""
REST = {
    "board": "at the board",
    "room": "for the room",
    "live": "to try it",
    "shown": "to go through what is shown",
}
"""What a slide's minutes are for beside speaking: its title, its words, its notes."""
MINUTES = re.compile(rf"(\d*\.?\d+)((?:, (?:{'|'.join(REST)}) \d*\.?\d+)*)")
FRONT_MATTER = re.compile(r"\A---\n(.*?)^---\n", re.DOTALL | re.MULTILINE)
MATH = re.compile(r"\$\$.*?\$\$|\$[^$]*\$|`[^`]*`", re.DOTALL)
NAMED = re.compile(r"\{\{(\w+)\}\}")
ONE_LETTER = re.compile(r"\b([A-Za-z])-(?=[a-z])")  # n-gram: no line ends after the letter
NUMBER = re.compile(r"(?<![\w.,−-])\d[\d,.]*\d|(?<![\w.,−-])\d")
KINDS = ("figure", "equation", "code", "table", "output", "live")


class DeckError(Exception):
    """A deck does not fit its chapter, or breaks a rule."""


@dataclass
class Slide:
    """One slide.

    Attributes:
        shows: kind and name of each part of the chapter's page.
        at_once: how many of them are there when the slide is; the others wait for a key.
        minutes: in all.
        rest: of them, what each thing in `REST` takes.
    """

    title: str
    text: str = ""
    shows: list[tuple[str, str]] = field(default_factory=list)
    asks: bool = False
    at_once: int | None = None
    minutes: float = 0
    rest: dict[str, float] = field(default_factory=dict)
    notes: str = ""


@dataclass
class Deck:
    """A deck as its source has it.

    Attributes:
        minutes: that the lecture lasts.
        patterns: where on the page each named number stands.
    """

    name: str
    minutes: float
    patterns: dict[str, str]
    slides: list[Slide]


# ------------------------------------------------------------------ the source


def read_deck(path: Path) -> Deck:
    """Read a deck.

    Raises:
        DeckError: it breaks a rule: names the slide and the rule.
    """
    text = path.read_text(encoding="utf-8")
    head = FRONT_MATTER.match(text)
    if head is None:
        raise DeckError(
            f"{path.name} must begin with its minutes and numbers between two lines ---"
        )
    stated: dict[str, Any] = yaml.safe_load(head[1]) or {}
    parts = re.split(r"^## ", text[head.end() :], flags=re.MULTILINE)[1:]
    deck = Deck(
        path.stem, stated.get("minutes", 75), stated.get("numbers", {}), [*map(_slide, parts)]
    )
    problems = [f"{path.name}, {problem}" for problem in _broken_rules(deck)]
    if problems:
        raise DeckError("\n".join(problems))
    return deck


def _slide(part: str) -> Slide:
    title, _, body = part.partition("\n")
    shown, _, said = body.partition("\n::notes ")
    slide = Slide(title.strip())
    kept = []
    for line in shown.splitlines():
        directive = re.fullmatch(r"::(\w+)(?: +(.*))?", line)
        if directive is None:
            kept.append(line)
        elif directive[1] == "ask":
            slide.asks = True
        elif directive[1] == "then":
            slide.at_once = len(slide.shows)
        else:
            slide.shows.append((directive[1], (directive[2] or "").strip()))
    slide.text = "\n".join(kept).strip()
    minutes, _, notes = said.partition("\n")
    if stated := MINUTES.fullmatch(minutes.strip()):
        slide.minutes = float(stated[1])
        slide.rest = {
            kind: float(time) for kind, time in re.findall(r"([a-z]+) ([\d.]+)", stated[2])
        }
    slide.notes = notes.strip()
    return slide


def _n_words(text: str) -> int:
    return len(re.findall(r"\w[\w’'-]*", MATH.sub(" ", text)))


def _rest_in_words(slide: Slide) -> list[str]:
    return [f"{minutes:g} {REST[kind]}" for kind, minutes in slide.rest.items()]


def _broken_rules(deck: Deck) -> list[str]:
    """Name what a lecturer or a reader would stumble over."""
    found = []
    for number, slide in enumerate(deck.slides, 1):
        where = f"slide {number}, {slide.title!r}"
        words = _n_words(slide.text)
        spoken = (words + _n_words(slide.title) + _n_words(slide.notes)) / WORDS_PER_MINUTE
        needed = spoken + sum(slide.rest.values())
        if words > LONGEST:
            found.append(f"{where}: {words} words; {LONGEST} at most")
        if not slide.notes or not slide.minutes:
            kinds = ", ".join(REST)
            found.append(
                f"{where}: needs '::notes MINUTES' (what they are for: {kinds}) and what is said"
            )
        elif not slide.minutes / 2 <= needed <= slide.minutes * 1.5:
            parts = [f"{spoken:.1f} minutes to say", *_rest_in_words(slide)]
            found.append(f"{where}: takes {', '.join(parts)}; it has {slide.minutes:g}")
        if slide.asks and "?" not in slide.title + slide.text:
            found.append(f"{where}: asks, and shows no question")
        if slide.at_once == len(slide.shows):
            found.append(f"{where}: nothing stands below its ::then")
        if slide.asks and "**Answer.**" not in slide.notes:
            found.append(f"{where}: asks, and its notes have no '**Answer.**'")
        for kind, _ in slide.shows:
            if kind not in KINDS:
                found.append(f"{where}: ::{kind} is not known; known are {', '.join(KINDS)}")
    total = sum(slide.minutes for slide in deck.slides)
    if not deck.minutes - 5 <= total <= deck.minutes:
        found.append(f"its notes take {total:g} minutes; it has {deck.minutes:g}, less 5 at most")
    n_words = sum(_n_words(" ".join((s.title, s.text, s.notes))) for s in deck.slides)
    slowly = n_words / SLOW_WORDS_PER_MINUTE + sum(sum(s.rest.values()) for s in deck.slides)
    if slowly > deck.minutes:
        found.append(
            f"takes {slowly:.1f} minutes at {SLOW_WORDS_PER_MINUTE} words a minute; "
            f"it has {deck.minutes:g}"
        )
    for first in range(0, len(deck.slides) - QUESTION_EVERY + 1, QUESTION_EVERY):
        if not any(slide.asks for slide in deck.slides[first : first + QUESTION_EVERY]):
            last = first + QUESTION_EVERY
            found.append(f"slides {first + 1} to {last}: none of them asks the room (::ask)")
    return found


# ------------------------------------------------------------------ what the chapter shows


class ChapterPage:
    """The built page of a chapter, as a place to take things from."""

    def __init__(self, text: str) -> None:
        tree = BeautifulSoup(text, "lxml")
        article = tree.select_one("article")
        if article is None:
            raise DeckError("the page has no article")
        for tag in article.select(".headerlink, .eqno, .copybtn"):
            tag.decompose()
        for cell in article.select("td, th"):
            cell.append(" ")  # or the numbers of a row are one
        self._article = article
        licence = tree.select_one('footer p:has(a[href*="creativecommons.org"])')
        self.licence = str(licence) if licence else ""
        self.title = self._title(article)
        labels = [tag["aria-label"] for tag in article.select("svg[aria-label]")]
        self.words = " ".join(" ".join([article.get_text(""), *map(str, labels)]).split())

    @staticmethod
    def _title(article: Tag) -> str:
        heading = article.select_one("h1")
        return heading.get_text("", strip=True) if heading else ""

    def number(self, pattern: str) -> str:
        """Return what a pattern's group matches on the page."""
        match = re.search(pattern, self.words)
        if match is None or not match.groups():
            raise DeckError(f"the page has nothing like {pattern!r} (a pattern with one group)")
        return match[1]

    def take(self, kind: str, name: str, *, waits: bool = False) -> str:
        """Return a part of the page as HTML, which may wait for a key (reveal.js: a fragment)."""
        part = getattr(self, f"_{kind}")(name)
        if part is None:
            raise DeckError(f"the page has no {kind} {name!r}{self._known(kind)}")
        waiting = ' fragment" data-fragment-index="0' if waits else ""  # one key for all of them
        return f'<div class="lm-shown lm-shown-{kind}{waiting}">{part}</div>'

    def scripts(self, name: str) -> list[str]:
        """Return the scripts that a live figure needs."""
        tag = self._article.find(name)
        engine = ["lm-engine.js"] if isinstance(tag, Tag) and tag.get("data-models") else []
        return ["lm-base.js", *engine, f"{name}.js"]

    def _known(self, kind: str) -> str:
        if kind != "figure":
            return ""
        labels = [str(tag["aria-label"])[:50] for tag in self._article.select("svg[aria-label]")]
        return "; its figures begin: " + " | ".join(labels)

    def _figure(self, name: str) -> str | None:
        for tag in self._article.select(".lm-figure > svg[aria-label]"):
            if str(tag["aria-label"]).startswith(name):
                return str(tag)
        return None

    def _equation(self, name: str) -> str | None:
        tag = self._article.find(id=f"equation-{name}")
        return None if tag is None else html.escape(tag.get_text("").strip(), quote=False)

    def _code(self, name: str) -> str | None:
        for pre in self._article.select("div.highlight pre"):
            lines = pre.decode_contents().splitlines()
            plain = pre.get_text("").splitlines()
            for start, line in enumerate(plain):
                if line.lstrip().startswith(name):
                    indent = len(line) - len(line.lstrip())
                    inside = rf" {{{indent}}}[\s)\]}}]|\s*$"
                    end = start + 1
                    while end < len(plain) and re.match(inside, plain[end]):
                        end += 1
                    moved = rf"^((?:<[^>]*>)*) {{{indent}}}"
                    shown = "\n".join(re.sub(moved, r"\1", one) for one in lines[start:end])
                    pre = _block(shown.rstrip(), plain[start:end], indent)
                    return f'<div class="highlight">{pre}</div>'
        return None

    def _table(self, name: str) -> str | None:
        heading, _, rows = name.partition("|")
        for table in self._article.select("table"):
            if not table.get_text(" ", strip=True).startswith(heading.strip()):
                continue
            copy = BeautifulSoup(str(table), "lxml").table
            if copy is None:
                continue
            for link in copy.select("a"):  # it would leave the lecture, or look for its place here
                link.unwrap()
            if rows.strip():
                wanted = {int(row) for row in rows.split(",")}
                for place, row in enumerate(copy.select("tbody tr")):
                    if place not in wanted:
                        row.decompose()
            return str(copy)
        return None

    def _output(self, name: str) -> str | None:
        for pre in self._article.select(".cell_output pre"):
            lines = pre.get_text("").splitlines()
            for start, line in enumerate(lines):
                if line.startswith(name):
                    said = html.escape("\n".join(lines[start:]).rstrip())
                    return _block(said, lines[start:])
        return None

    def _live(self, name: str) -> str | None:
        tag = self._article.find(name)
        return None if tag is None else str(tag)


def _block(shown: str, lines: Sequence[str], indent: int = 0) -> str:
    """Return lines as they stand on the page; slides.css sizes the type by the longest."""
    columns = max(len(line) for line in lines) - indent
    style = f' style="--columns: {columns}"' if columns <= WIDEST else ""
    return f'<pre tabindex="0"{style}>{shown}</pre>'


# ------------------------------------------------------------------ the deck

PAGE = """\
<!doctype html>
<html lang="en" data-theme="light">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}: slides</title>
<link rel="stylesheet" href="../_static/reveal/reveal.css">
<link rel="stylesheet" href="../_static/pygments.css">
<link rel="stylesheet" href="../_static/coursebook.css">
<link rel="stylesheet" href="../_static/slides.css">
<script src="../_static/slides.js"></script>
<script defer src="../_static/reveal/reveal.js"></script>
<script defer src="../_static/reveal/notes.js"></script>
<script defer src="../_static/mathjax/tex-mml-chtml.js"></script>
{scripts}
</head>
<body>
<main><div class="reveal"><div class="slides">
{slides}
</div></div></main>
</body>
</html>
"""


def _markdown() -> MarkdownIt:
    def math(content: str, options: dict[str, Any]) -> str:
        sides = (r"\[", r"\]") if options["display_mode"] else (r"\(", r"\)")
        return html.escape(f"{sides[0]}{content}{sides[1]}", quote=False)

    plain = MarkdownIt("commonmark", {"html": False, "typographer": True})
    return plain.enable(["table", "smartquotes"]).use(dollarmath_plugin, renderer=math)


def render_deck(deck: Deck, page: ChapterPage) -> str:
    """Return a deck as a page of its own.

    Raises:
        DeckError: the chapter's page lacks what a slide asks for; names both.
    """
    markdown, scripts, sections = _markdown(), dict.fromkeys(()), []
    numbers = {}
    problems = []
    for name, pattern in deck.patterns.items():
        try:
            numbers[name] = page.number(pattern)
        except DeckError as error:
            problems.append(f"{deck.name}.md, {name}: {error}")
    for place, slide in enumerate(deck.slides, 1):
        try:
            sections.append(_section(slide, place == 1, numbers, page, markdown))
        except (DeckError, KeyError) as error:
            said = f"no number is called {error}" if isinstance(error, KeyError) else error
            problems.append(f"{deck.name}.md, slide {place}, {slide.title!r}: {said}")
        for kind, name in slide.shows:
            if kind == "live":
                scripts |= dict.fromkeys(page.scripts(name))
    if problems:
        raise DeckError("\n".join(problems))
    loaded = "\n".join(f'<script defer src="../_static/{name}"></script>' for name in scripts)
    return PAGE.format(title=html.escape(page.title), scripts=loaded, slides="\n".join(sections))


def _section(
    slide: Slide, is_first: bool, numbers: dict[str, str], page: ChapterPage, markdown: MarkdownIt
) -> str:
    shown, said = (
        NUMBER.findall(NAMED.sub("", MATH.sub(" ", part)))
        for part in (f"{slide.title}\n{slide.text}", slide.notes)
    )
    for number in [*shown, *(number for number in said if "." in number)]:
        if not re.search(rf"(?<![\d.,]){re.escape(number)}(?![\d]|[.,]\d)", page.words):
            raise DeckError(f"the number {number} does not stand on the chapter's page")
    title, text, notes = (
        NAMED.sub(lambda match: numbers[match[1]], part)
        for part in (slide.title, slide.text, slide.notes)
    )
    title = ONE_LETTER.sub("\\1\N{NON-BREAKING HYPHEN}", title)
    level = "h1" if is_first else "h2"
    at_once = len(slide.shows) if slide.at_once is None else slide.at_once
    taken = "".join(
        page.take(kind, name, waits=place >= at_once)
        for place, (kind, name) in enumerate(slide.shows)
    )
    kinds = ["lm-slide"]
    if is_first:
        kinds.append("lm-first")
    elif slide.asks:
        kinds.append("lm-to-room")
    elif not taken:
        kinds.append("lm-said")
    rest = f", {', '.join(_rest_in_words(slide))}" if slide.rest else ""
    read = markdown.render(f"*{slide.minutes:g} min{rest}.* {notes}")
    licence = f'<footer class="lm-licence">{page.licence}</footer>' if is_first else ""
    return (
        f'<section class="{" ".join(kinds)}" data-timing="{60 * slide.minutes:g}">'
        f"<{level}>{markdown.renderInline(title)}</{level}>"
        f'<div class="lm-text">{markdown.render(text)}</div>{taken}{licence}'
        f'<aside class="notes">{read}</aside></section>'
    )


def make_decks(site: Path, sources: Path = SOURCES) -> list[Path]:
    """Write the deck of each chapter that has one and is built; return their paths.

    Raises:
        DeckError: decks that break a rule or do not fit their chapter; all of them are named.
    """
    written, problems = [], []
    for source in sorted(sources.glob("*.md")):
        chapter = site / "chapters" / f"{source.stem}.html"
        if not chapter.is_file():
            continue
        try:
            made = render_deck(read_deck(source), ChapterPage(chapter.read_text(encoding="utf-8")))
        except DeckError as error:
            problems.append(str(error))
            continue
        target = site / FOLDER / f"{source.stem}.html"
        target.parent.mkdir(exist_ok=True)
        target.write_text(made, encoding="utf-8")
        written.append(target)
    if problems:
        raise DeckError("\n".join(problems))
    return written


def has_deck(chapter: str) -> bool:
    """Whether a chapter has slides."""
    return (SOURCES / f"{chapter}.md").is_file()


def _after_build(app: Sphinx, exception: Exception | None) -> None:
    if exception is None and app.builder.format == "html":
        make_decks(Path(app.outdir))


def setup(app: Sphinx) -> None:
    """Make the decks when the pages are there."""
    app.connect("build-finished", _after_build)
