"""Slides show what the chapter's page shows, keep their rules, and work in a browser."""

import importlib.util
import json
import re
import shutil
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "book" / "_ext"), str(ROOT / "book")]

from coursebook import slides  # noqa: E402

spec = importlib.util.spec_from_file_location("printing", ROOT / "book" / "slides.py")
printing = importlib.util.module_from_spec(spec)
spec.loader.exec_module(printing)

AXE = (ROOT / "third_party" / "axe-core" / "axe.min.js").read_text(encoding="utf-8")
DECKS = sorted(slides.SOURCES.glob("*.md"))
CHAPTER = """\
<html><body><article><section><h1>7. Toys<a class="headerlink" href="#toys">#</a></h1>
<p>Each further word adds <em>ten</em> operations; there are 1,024 of them.</p>
<div class="math notranslate nohighlight" id="equation-eq-toy"><span class="eqno">(7.1)</span>
\\[o_t = a_t &lt; 1\\]</div>
<div class="cell_input"><div class="highlight"><pre><span></span><span>import</span> math

<span class="k">class</span> Toy:
    <span class="k">def</span> spin(self,
    ):
        <span class="k">return</span> 1

    <span class="k">def</span> stop(self): ...
</pre></div></div>
<div class="cell_output"><pre>noise
rows sum to 0.5
and 0.7
</pre></div>
<div class="lm-figure"><svg role="img" aria-label="A rising line, from 3 to 4.25."
viewBox="0 0 9 9"><path d="M 0 0 L 9 9"/></svg></div>
<table><thead><tr><th>model</th><th>bits</th></tr></thead><tbody><tr><td>a</td><td>1.5</td></tr>
<tr><td><a href="#b">b</a></td><td>2.5</td></tr></tbody></table>
<lm-toy data-models="gpt-small"><p>still</p></lm-toy>
</section></article></body></html>
"""
DECK = """\
---
minutes: 8
numbers:
  steps: "adds (\\\\w+) operations"
  end: "from 3 to (4\\\\.\\\\d+)\\\\."
---
## Toys spin
Up to {{end}}, by **{{steps}}** of $x_1$ and 1,024.

::figure A rising line

::notes 3, shown 2.5
Say it.

## Does it stop?
::ask
::equation eq-toy
::then
::code def spin(
::output rows sum
::table model | 1
::live lm-toy

::notes 5, room 3, live 1.5
Wait. **Answer.** After {{steps}}, "most" say.
"""


def made(tmp_path: Path, deck: str = DECK, chapter: str = CHAPTER) -> str:
    path = tmp_path / "toys.md"
    path.write_text(deck, encoding="utf-8")
    return slides.render_deck(slides.read_deck(path), slides.ChapterPage(chapter))


def test_deck_shows_the_page_s_own_figure_formula_code_output_rows_and_numbers(tmp_path):
    page = made(tmp_path)
    first, second = re.findall(r"<section.*?</section>", page, re.DOTALL)
    said = slides.BeautifulSoup(first, "lxml").select_one(".lm-text")
    assert said.get_text("").strip() == "Up to 4.25, by ten of \\(x_1\\) and 1,024."
    assert 'aria-label="A rising line, from 3 to 4.25."' in first and "<h1>Toys spin</h1>" in first
    assert "o_t = a_t &lt; 1" in second and "(7.1)" not in second
    code = slides.BeautifulSoup(second, "lxml").select_one(".lm-shown-code").get_text("")
    assert code == "def spin(self,\n):\n    return 1"
    assert "rows sum to 0.5\nand 0.7" in second and "noise" not in second
    assert "<td>b </td>" in second and "<a " not in second  # a link would leave the lecture
    assert "<td>2.5 </td>" in second and "<td>1.5 </td>" not in second
    waiting = [" fragment" in shown for shown in re.findall(r'class="lm-shown ([^"]*)"', second)]
    assert waiting == [False, True, True, True, True]
    assert "fragment" not in first
    assert "<p>still</p>" in second and "After ten, “most” say." in second
    loaded = re.findall(r'src="../_static/(lm-[\w-]+\.js)"', page)
    assert loaded == ["lm-base.js", "lm-engine.js", "lm-toy.js"]


def test_longest_line_of_a_block_chooses_the_size_of_its_type(tmp_path):
    page = made(tmp_path)
    blocks = slides.BeautifulSoup(page, "lxml").select("pre")
    longest = [max(map(len, pre.get_text("").splitlines())) for pre in blocks]
    assert longest == [len("def spin(self,"), len("rows sum to 0.5")]
    assert [pre["style"] for pre in blocks] == [f"--columns: {columns}" for columns in longest]
    long = made(tmp_path, chapter=CHAPTER.replace("and 0.7", "and 0.7" * 14))
    assert "style" not in slides.BeautifulSoup(long, "lxml").select("pre")[1].attrs


def test_no_line_of_a_title_ends_between_a_letter_and_what_it_counts(tmp_path):
    page = made(tmp_path, DECK.replace("## Toys spin", "## Order-3 n-grams and x-rays spin"))
    assert "<h1>Order-3 n\N{NON-BREAKING HYPHEN}grams and x\N{NON-BREAKING HYPHEN}rays" in page


def test_what_is_computed_in_a_formula_of_the_notes_need_not_stand_on_the_page(tmp_path):
    page = made(tmp_path, DECK.replace("Say it.", "Say $0.5^2 = 0.25$, and 12 words."))
    assert "\\(0.5^2 = 0.25\\)" in page and "12 words" in page


def test_changed_page_changes_the_deck(tmp_path):
    page = made(tmp_path, chapter=CHAPTER.replace("4.25", "4.75").replace(">ten<", ">twelve<"))
    assert "Up to 4.75, by <strong>twelve</strong>" in page and "After twelve," in page


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("::figure A rising", "::figure A falling", "slide 1, 'Toys spin': the page has no figure"),
        ("::equation eq-toy", "::equation eq-boy", "no equation 'eq-boy'"),
        ("::code def spin(", "::code def twist(", r"no code 'def twist\('"),
        ("::output rows", "::output columns", "no output 'columns sum'"),
        ("::table model", "::table toy", "no table"),
        ("::live lm-toy", "::live lm-boy", "no live 'lm-boy'"),
        ("adds (", "takes (", "toys.md, steps: the page has nothing like"),
        ("{{end}},", "{{begin}},", "no number is called 'begin'"),
        ("1,024", "1,025", "the number 1,025 does not stand on the chapter's page"),
        ("## Toys spin", "## Toys spin 7.5 times", "the number 7.5 does not stand"),
        ("Wait.", "Wait for 0.25 of it.", "slide 2.*the number 0.25 does not stand"),
    ],
)
def test_what_the_page_does_not_have_ends_the_build(tmp_path, old, new, message):
    assert old in DECK
    with pytest.raises(slides.DeckError, match=message):
        made(tmp_path, DECK.replace(old, new))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("by **", "word " * 40 + "by **", "slide 1, 'Toys spin': 4. words; 40 at most"),
        ("::notes 3, shown 2.5\nSay it.", "Say it.", "slide 1.*needs '::notes MINUTES'"),
        ("3, shown 2.5", "3, talk 2.5", "slide 1.*what they are for: board, room, live, shown"),
        ("Say it.", "word " * 391, "slide 1.*takes 2.7 minutes to say, 2.5 to go.*; it has 3"),
        ("3, shown 2.5", "3", "slide 1, 'Toys spin': takes 0.1 minutes to say; it has 3"),
        ("## Does it stop?", "## It stops", "slide 2, 'It stops': asks, and shows no question"),
        ("::notes 5, room 3,", "::notes 9, room 6,", "its notes take 12 minutes; it has 8"),
        ("Wait.", "word " * 180, "takes 8.5 minutes at 130 words a minute; it has 8"),
        ("**Answer.**", "Well.", "asks, and its notes have no"),
        ("::live lm-toy\n", "::live lm-toy\n::then\n", "slide 2.*nothing stands below its ::then"),
        ("::live lm-toy", "::video toy", "::video is not known"),
        ("---\nminutes", "minutes", "must begin with its minutes"),
    ],
)
def test_broken_rule_is_named_with_its_slide(tmp_path, old, new, message):
    with pytest.raises(slides.DeckError, match=message):
        made(tmp_path, DECK.replace(old, new, 1))


def test_four_slides_without_a_question_are_named(tmp_path):
    quiet = "## Still\n\n::notes 1, room .8\nGo on.\n"
    deck = DECK.replace("minutes: 8", "minutes: 12") + quiet * 2
    made(tmp_path, deck)
    with pytest.raises(slides.DeckError, match="slides 1 to 4: none of them asks the room"):
        made(tmp_path, deck.replace("::ask\n", ""))


@pytest.mark.parametrize("path", DECKS, ids=lambda path: path.stem)
def test_decks_of_the_course_keep_the_rules_and_use_every_number(path):
    deck = slides.read_deck(path)
    assert (ROOT / "book" / "chapters" / path.name).is_file()
    assert 20 <= len(deck.slides) <= 30 and deck.minutes == 75
    text = path.read_text(encoding="utf-8")
    assert [name for name in deck.patterns if f"{{{{{name}}}}}" not in text] == []


@pytest.mark.parametrize("path", DECKS, ids=lambda path: path.stem)
def test_what_a_deck_shows_stands_in_its_chapter_s_source(path):
    """The build sees more, but takes minutes: a figure's description, a label, a line of code."""
    source = (ROOT / "book" / "chapters" / path.name).read_text(encoding="utf-8")
    joined = re.sub(r'"\s*\n\s*f?"', "", source)
    for slide in slides.read_deck(path).slides:
        for kind, name in slide.shows:
            shown = {"equation": f"(eq-{name.removeprefix('eq-')})"}.get(kind, name)
            if kind in ("figure", "equation", "code"):
                assert shown in joined, f"{slide.title}: {kind} {name}"


def test_page_links_to_its_slides_where_it_has_some():
    assert slides.has_deck("self_attention") and not slides.has_deck("no_such_chapter")


def put_on_a_site(tmp_path: Path, deck: str) -> Path:
    """Return a deck's page with all that it loads beside it."""
    static = tmp_path / "site" / "_static"
    shutil.copytree(ROOT / "book" / "_assets", static)
    shutil.copytree(slides.ROOT / "third_party" / "reveal", static / "reveal")
    shutil.unpack_archive(ROOT / "third_party" / "mathjax" / "mathjax.zip", static / "mathjax")
    (static / "pygments.css").write_text("html[data-theme] .highlight { background: #2b2b2b; }")
    page = tmp_path / "site" / "slides" / "toys.html"
    page.parent.mkdir()
    page.write_text(deck, encoding="utf-8")
    return page


def complaints(browser, page: Path, theme: str) -> tuple[list[str], int]:
    """Return what is wrong with any slide, all of it shown, and how many slides there are.

    Wrong is what axe finds, what the console calls an error, and a request to anywhere else.
    """
    browser.get_log("performance")
    browser.get_log("browser")
    browser.set_script_timeout(120)
    browser.get(f"{page.as_uri()}?theme={theme}")
    browser.execute_async_script(
        "const done = arguments[0];"
        "(function wait() { 'ready' in document.documentElement.dataset ? done() "
        ": setTimeout(wait, 50); })();"
    )
    assert browser.execute_script("return document.documentElement.dataset.theme") == theme
    browser.execute_script(AXE)
    found = []
    n_slides = browser.execute_script("return Reveal.getTotalSlides()")
    for place in range(n_slides):
        broken = browser.execute_async_script(
            "const [place, done] = arguments; Reveal.slide(place);"
            "while (Reveal.availableFragments().next) Reveal.nextFragment();"
            "axe.run({resultTypes: ['violations'], preload: false}).then((r) => "
            "done(r.violations.flatMap((v) => v.nodes.map((node) => v.id + ' ' + node.html))));",
            place,
        )
        found += [f"slide {place + 1}: {problem}" for problem in broken]
    events = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    asked = [
        event["params"]["request"]["url"]
        for event in events
        if event["method"] == "Network.requestWillBeSent"
    ]
    assert any(url.endswith("reveal.js") for url in asked), "requests are seen"
    own = ("file:", "data:", "blob:", "chrome:")  # the last: the page of a new tab
    found += [f"asks for {url}" for url in asked if not url.startswith(own)]
    found += [e["message"] for e in browser.get_log("browser") if e["level"] == "SEVERE"]
    return found, n_slides


@pytest.mark.exhaustive
@pytest.mark.browser
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("path", DECKS, ids=lambda path: path.stem)
def test_every_slide_of_the_built_decks_is_accessible_and_asks_for_nothing_elsewhere(
    path, theme, site, browser
):
    page = site / slides.FOLDER / f"{path.stem}.html"
    assert complaints(browser, page, theme) == ([], len(slides.read_deck(path).slides))


@pytest.mark.browser
def test_slide_that_does_not_show_all_is_named_before_the_lecture(tmp_path):
    from editions import opened

    row = "<tr><td>a</td><td>1.5</td></tr>"
    deck = (
        DECK.replace("::live lm-toy\n", "").replace("| 1\n", "\n").replace("::code def spin(\n", "")
    )
    page = put_on_a_site(tmp_path, made(tmp_path, deck, CHAPTER.replace(row, row * 20)))
    with opened(page, "?print-pdf") as browser:
        found = printing.too_full(browser)
        marked = browser.execute_script(
            "return [...document.querySelectorAll('.lm-to-room')]"
            ".filter((part) => getComputedStyle(part).backgroundImage !== 'none')"
            ".map((part) => part.tagName)"
        )
    assert len(found) == 1 and found[0].startswith("slide 2, 'Does it stop?': "), found
    assert marked == ["SECTION"]  # and not the background beside it, too


@pytest.mark.browser
def test_figure_whose_letters_are_too_small_is_named_before_the_lecture(tmp_path):
    from editions import opened

    words = (
        '<text y="{y}" font-size="{size}">{word}</text>'
        '<text y="80" font-size="40">a<tspan font-size="12">i</tspan></text>'
    )
    figure = (
        '<div class="lm-figure"><svg role="img" aria-label="{label}" viewBox="0 0 200 100">'
        f"{words}</svg></div>"
    )
    figures = [
        figure.format(label="A rising line, from 3 to 4.25.", y=40, size=8, word="legible"),
        figure.format(label="A falling line.", y=40, size=2, word="too small"),
    ]
    chapter = re.sub(
        r'<div class="lm-figure">.*?</div>', "".join(figures), CHAPTER, flags=re.DOTALL
    )
    deck = DECK.partition("## Does it stop?")[0] + (
        "## Does it fall?\n::ask\n\n::figure A falling\n\n::notes 5, room 5\n**Answer.** Yes.\n"
    )
    page = put_on_a_site(tmp_path, made(tmp_path, deck, chapter))
    with opened(page, "?print-pdf") as browser:
        found = printing.too_small(browser)
    assert len(found) == 1 and "slide 2, 'Does it fall?': 'too small' is" in found[0], found


@pytest.mark.browser
def test_deck_works_by_keyboard_in_light_and_dark_without_a_request_elsewhere(tmp_path, browser):
    chapter = CHAPTER.replace(' data-models="gpt-small"', "").replace("lm-toy", "lm-quiz")
    deck = made(tmp_path, DECK.replace("lm-toy", "lm-quiz"), chapter)
    page = put_on_a_site(tmp_path, deck)
    for theme in ("light", "dark"):
        assert complaints(browser, page, theme) == ([], 2)
        live = "const box = document.querySelector('.lm-shown-live');"
        zoom = browser.execute_script(f"{live} return box.style.zoom")
        assert zoom.endswith("%")  # as large as the slide lets it be
        assert browser.execute_script(  # or a field is wider than its figure, then made too small
            f"{live} return [...box.querySelectorAll('*')].every("
            "(part) => getComputedStyle(part).boxSizing === 'border-box')"
        )
    next_one = browser.execute_script(  # reveal.js, too, calls something so: the arrow to be used
        "Reveal.slide(0); const arrow = document.querySelector('.navigate-right');"
        "arrow.classList.add('highlight'); return getComputedStyle(arrow).backgroundColor"
    )
    assert next_one == "rgba(0, 0, 0, 0)"
    body = browser.find_element("tag name", "body")
    waiting = "return document.querySelectorAll('.present .fragment:not(.visible)').length"
    browser.execute_script("Reveal.slide(1, 0, -1)")
    assert browser.execute_script(waiting) == 4
    body.send_keys("n")
    assert browser.execute_script(waiting) == 0
    assert browser.execute_script("return Reveal.getIndices().h") == 1
    assert browser.execute_script(  # what the speaker's view needs to say how far one is off
        "return [...Reveal.getSlides().map((slide) => slide.dataset.timing), "
        "Reveal.getConfig().defaultTiming]"
    ) == ["180", "300", 60]
    body.send_keys("pp")
    assert browser.execute_script("return Reveal.getIndices().h") == 0
    body.send_keys("d")
    assert browser.execute_script("return document.documentElement.dataset.theme") == "light"
    assert browser.execute_script("return Reveal.getSlideNotes()").startswith(
        "<p><em>3 min, 2.5 to go through what is shown.</em>"
    )


@pytest.mark.browser
def test_deck_follows_the_system_unless_it_is_asked_for_a_theme(tmp_path, browser):
    from selenium.webdriver.support.ui import WebDriverWait

    from tests.book.test_browser import THEME, show_in

    script = ROOT / "book" / "_assets" / "slides.js"
    head = script.read_text(encoding="utf-8").partition("window.MathJax")[0]
    page = tmp_path / "deck.html"
    page.write_text(f"<!doctype html><title>-</title><script>{head}</script>", encoding="utf-8")
    show_in(browser, "light")
    browser.get(page.as_uri())
    assert browser.execute_script(THEME) == "light"
    show_in(browser, "dark")
    WebDriverWait(browser, 60).until(lambda _: browser.execute_script(THEME) == "dark")
    browser.get(f"{page.as_uri()}?theme=light")
    assert browser.execute_script(THEME) == "light"
    show_in(browser, "light")
