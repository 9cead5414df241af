"""The pages in a real browser: silence, self-sufficiency, accessibility, and figures that work."""

import json
import math
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from selenium.common.exceptions import TimeoutException
from selenium.webdriver.support.ui import WebDriverWait

pytestmark = [pytest.mark.slow, pytest.mark.browser]

ROOT = Path(__file__).parents[2]
AXE = (ROOT / "third_party" / "axe-core" / "axe.min.js").read_text(encoding="utf-8")
THEMES, WIDTHS = ("light", "dark"), (1280, 390)
THEME = "return document.documentElement.dataset.theme"
COLOUR_RULES = ("color-contrast", "link-in-text-block")
WIDTH_RULES = ("scrollable-region-focusable", "target-size")
READY = "return window.MathJax?.startup?.promise?.then(() => true) ?? true"


def look(browser, page: Path, theme: str = "light", width: int = 1280) -> None:
    """Open a page as a reader with this theme and this screen does, and wait for its formulas."""
    show_in(browser, theme)
    resize(browser, width)
    for log in ("browser", "performance"):
        browser.get_log(log)
    browser.get(page.as_uri())
    browser.set_script_timeout(60)
    browser.execute_script(READY)


def resize(browser, width: int) -> None:
    """Give the screen this width; an open page follows when it is drawn next."""
    screen = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)


def show_in(browser, theme: str) -> None:
    """Let the reader's system prefer a theme, and nothing move; an open page follows at once."""
    media = {"features": [{"name": "prefers-color-scheme", "value": theme},
                          {"name": "prefers-reduced-motion", "value": "reduce"}]}  # fmt: skip
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)


def complaints(browser) -> list[str]:
    """What the console said, and each request that left the file system."""
    said = [entry["message"] for entry in browser.get_log("browser") if entry["level"] != "INFO"]
    for entry in browser.get_log("performance"):
        message = json.loads(entry["message"])["message"]
        if message["method"] == "Network.requestWillBeSent":
            url = message["params"]["request"]["url"]
            if urlsplit(url).scheme not in ("file", "data", "blob"):
                said.append(f"request to {url}")
    return said


def violations(browser, *rules: str) -> list[str]:
    """What axe-core finds, by all its rules or by those named, one line for each element."""
    browser.execute_script(f"if (!window.axe) {{ {AXE} }}")
    found = browser.execute_async_script(
        "const [rules, done] = arguments;"
        "const options = rules.length ? {runOnly: rules} : {};"
        "options.resultTypes = ['violations']; options.preload = false;"
        "axe.run(options).then((r) => done(r.violations));",
        rules,
    )
    return [
        f"{rule['id']}: {node['html'][:160]} {node['failureSummary'][:200]}"
        for rule in found
        for node in rule["nodes"]
    ]


def too_wide(browser) -> list[str]:
    """Complain of a page that is wider than the screen, and of outputs that run out of theirs."""
    excess = browser.execute_script(
        "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
    )
    cut = browser.execute_script(
        "return [...document.querySelectorAll('main .cell_output pre')]"
        ".filter((output) => output.scrollWidth > output.clientWidth && output.checkVisibility())"
        ".map((output) => `output ${output.textContent.slice(0, 40)} is cut off`)"
    )
    return [f"{excess} pixels too wide"] * (excess > 0) + cut


OPEN_ALL = (
    "const boxes = [...document.querySelectorAll('main .toggle-hidden')];"
    "const details = [...document.querySelectorAll('main details:not([open])')];"
    "for (const box of boxes) box.classList.remove('toggle-hidden');"
    "for (const box of details) box.open = true;"
)
CLOSE_AGAIN = (
    "for (const box of boxes) box.classList.add('toggle-hidden');"
    "for (const box of details) box.open = false;"
)


def cut_formulas(browser) -> list[str]:
    """Formulas, those of closed solutions included, that end beyond the place they have.

    That is the column for a formula in a line. One on lines of its own has its own box, beside
    its number; it could be scrolled there, but nothing shows that there is more. A formula in a
    table moves with the table.
    """
    return browser.execute_script(
        f"{OPEN_ALL}"
        "const column = (node) => getComputedStyle(node).display.startsWith('inline')"
        "  ? column(node.parentElement) : node.getBoundingClientRect();"
        "const found = [...document.querySelectorAll('main mjx-container')]"
        ".filter((formula) => formula.checkVisibility() && !formula.closest('table'))"
        ".map((formula) => [formula, formula.querySelector('mjx-math')])"
        ".map(([formula, painted]) => [formula, painted.getBoundingClientRect().right"
        "  - (formula.hasAttribute('display') ? formula.getBoundingClientRect()"
        "    : column(formula.parentElement)).right])"
        ".filter(([, excess]) => excess > 1)"
        ".map(([formula]) => `formula ${formula.textContent.slice(0, 40)} is cut off`);"
        f"{CLOSE_AGAIN}"
        "return found;"
    )


def cut_drawings(browser) -> list[str]:
    """Drawings, those in closed solutions included, of which a part lies beyond the screen."""
    return browser.execute_script(
        f"{OPEN_ALL}"
        "const found = [...document.querySelectorAll('main svg')]"
        ".filter((svg) => svg.checkVisibility() && !svg.closest('mjx-container'))"
        ".map((svg) => [svg, svg.getBoundingClientRect()])"
        ".filter(([, box]) => box.left < -0.5 || box.right > innerWidth + 0.5)"
        ".map(([svg, box]) => `${(svg.ariaLabel || svg.textContent).slice(0, 40)} is drawn from `"
        "  + `${box.left.toFixed()} to ${box.right.toFixed()} of ${innerWidth} pixels`);"
        f"{CLOSE_AGAIN}"
        "return found;"
    )


def small_labels(browser) -> list[str]:
    """Labels of drawings, live ones included, that this screen shows smaller than ten pixels.

    A label is as large as its largest part: exponents and indices are smaller. A deck of slides
    is for a wall; a small screen shows each slide whole, made smaller.
    """
    if browser.find_elements("css selector", ".reveal .slides"):
        return []
    return browser.execute_script(
        "const hasWords = (node) => [...node.childNodes].some((part) => part.nodeType === 3);"
        "const size = (text) => Math.max(...[text, ...text.children].filter(hasWords)"
        "  .map((part) => parseFloat(getComputedStyle(part).fontSize)));"
        "return [...document.querySelectorAll('main svg text')]"
        ".filter((text) => text.textContent && text.checkVisibility()"
        "  && !text.closest('mjx-container'))"
        ".map((text) => [text.textContent, size(text) * text.ownerSVGElement.getScreenCTM().a])"
        ".filter(([, pixels]) => pixels < 9.95)"
        ".map(([label, pixels]) => `label ${label} has ${pixels.toFixed(1)} pixels`)"
    )


def covered_labels(browser) -> list[str]:
    """Labels of live figures that are printed over one another."""
    return browser.execute_script(
        "const shown = (svg) => [...svg.querySelectorAll('text')]"
        "  .filter((text) => text.textContent.trim() && text.checkVisibility())"
        "  .map((text) => [text.textContent, text.getBoundingClientRect()]);"
        "const shared = (p, q, low, high) => Math.min(p[high], q[high]) - Math.max(p[low], q[low]);"
        "return [...document.querySelectorAll('main svg.lm-plot')].flatMap((svg) => {"
        "  const labels = shown(svg);"
        "  return labels.flatMap(([a, p], i) => labels.slice(i + 1)"
        "    .filter(([, q]) => shared(p, q, 'left', 'right') > 1)"
        "    .filter(([, q]) => shared(p, q, 'top', 'bottom') > 4)"
        "    .map(([b]) => `label ${a} is printed over ${b}`));"
        "});"
    )


def broken_words(browser) -> list[str]:
    """Names in code that a table breaks within, and labels of bars that are broken likewise."""
    return browser.execute_script(
        "const n_lines = (node) => { const range = document.createRange();"
        "  range.selectNodeContents(node);"
        "  return new Set([...range.getClientRects()].map((box) => Math.round(box.top))).size; };"
        "return [...document.querySelectorAll('main td code .pre, main .lm-bar-label')]"
        ".filter((node) => /^[\\w.␣]+$/.test(node.textContent) && node.checkVisibility())"
        ".filter((node) => n_lines(node) > 1)"
        ".map((node) => `${node.textContent} is broken within`)"
    )


def numbers_out_of_sight(browser) -> list[str]:
    """Running tables of one corpus whose numbers a reader would have to scroll for."""
    return browser.execute_script(
        "return [...document.querySelectorAll('main .story-so-far')]"
        ".filter((table) => table.caption.textContent.includes(': '))"
        ".map((table) => [...table.tHead.rows[0].cells].at(-2).getBoundingClientRect().right)"
        ".filter((right) => right > document.documentElement.clientWidth)"
        ".map((right) => `a running table ends ${Math.round(right)} pixels to the right`)"
    )


def inspect(browser, page: Path, width: int) -> list[str]:
    """Whatever is wrong with a page that is opened on a screen of this width.

    One page load serves both themes: a theme changes colours, so the rules about those are asked
    again.
    """
    look(browser, page, "light", width)
    found = violations(browser) + too_wide(browser) + small_labels(browser)
    found += covered_labels(browser) + broken_words(browser) + numbers_out_of_sight(browser)
    show_in(browser, "dark")
    try:  # the page hears of it when it is drawn next
        WebDriverWait(browser, 10).until(lambda _: browser.execute_script(THEME) == "dark")
    except TimeoutException:
        found.append("the page does not follow the reader's theme")
    found += [f"dark: {what}" for what in violations(browser, *COLOUR_RULES)]
    return found + complaints(browser)


def inspect_resized(browser, width: int) -> list[str]:
    """What is wrong with the page that is open, once its window has this width."""
    resize(browser, width)
    is_resized = f"return window.innerWidth === {width}"
    WebDriverWait(browser, 60).until(lambda browser: browser.execute_script(is_resized))
    found = violations(browser, *WIDTH_RULES) + too_wide(browser) + small_labels(browser)
    found += cut_formulas(browser) + cut_drawings(browser)
    found += broken_words(browser) + numbers_out_of_sight(browser)
    return found + complaints(browser)


@pytest.mark.parametrize("width", WIDTHS)
def test_specimen_is_accessible_silent_and_fits(browser, specimen, width):
    assert inspect(browser, specimen, width) == []
    for theme in THEMES:
        look(browser, specimen, theme, width)
        assert browser.execute_script(THEME) == theme
        assert violations(browser) == [], "a theme changes more than the rules about colours see"


def test_figures_are_readable_in_both_themes(browser, specimen):
    """axe-core does not look into a picture, so the contrast of its words is measured here."""
    script = (
        "return [...document.querySelectorAll('.lm-figure text')]"
        ".map((text) => getComputedStyle(text).fill.match(/[0-9.]+/g).slice(0, 3).map(Number))"
    )
    for theme, readable in (("light", lambda mean: mean < 128), ("dark", lambda mean: mean > 128)):
        look(browser, specimen, theme)
        colours = browser.execute_script(script)
        assert colours
        assert all(readable(sum(colour) / 3) for colour in colours), theme


def test_every_page_is_accessible_silent_and_fits(browser, site):
    """Reference pages share one template: of those, the first and the longest stand for all.

    All pages share one frame: how that looks when it is opened on a narrow screen is asked of the
    specimen and the welcome page by all rules; the others are made narrow when they are open, and
    asked by the rules whose answer depends on the width.
    """
    pages = [page for page in site.rglob("*.html") if not {"_static", "_modules"} & set(page.parts)]
    reference = sorted(page for page in pages if page.name.startswith("course_pkg"))
    longest = max(reference, key=lambda page: page.stat().st_size)
    others = [page for page in pages if page not in reference and page.name != "404.html"]
    problems: dict[str, str] = {}  # what is wrong -> where it was seen first
    for page in [*others, reference[0], longest]:
        for width in WIDTHS:
            opens = width == WIDTHS[0] or page == site / "index.html"
            found = inspect(browser, page, width) if opens else inspect_resized(browser, width)
            for problem in found:
                problems.setdefault(problem, f"{page.relative_to(site)} {width}")
    assert not problems, "\n".join(f"{where}: {what}" for what, where in problems.items())


def find(browser, selector):
    return browser.find_elements("css selector", selector)


def text_of(browser, selector) -> str:
    return find(browser, selector)[0].text


def press(browser, selector, n: int = 0) -> None:
    browser.execute_script("arguments[0].click()", find(browser, selector)[n])


def test_quiz_explains_each_choice_and_announces_it(browser, specimen):
    look(browser, specimen)
    assert not any(why.is_displayed() for why in find(browser, "lm-quiz .lm-why"))
    press(browser, "lm-quiz input", 0)
    assert text_of(browser, "lm-quiz .lm-why").startswith("Not this one.")
    press(browser, "lm-quiz input", 1)
    spoken = browser.execute_script(
        "return document.querySelector('lm-quiz [role=status]').textContent"
    )
    assert spoken == "Right. Count on your fingers."


def test_quiz_is_a_named_group_of_radio_buttons(browser, specimen):
    look(browser, specimen)
    (group,) = find(browser, "lm-quiz fieldset")
    assert group.aria_role == "group"
    assert group.accessible_name.startswith("What is")
    assert [radio.accessible_name for radio in find(browser, "lm-quiz input")] == ["Five", "Four"]


def test_guess_letter_shows_surprise_before_anyone_plays(browser, specimen):
    look(browser, specimen)
    assert len(find(browser, "lm-guess-letter .lm-letter")) == 29  # 28 given letters and the cursor
    assert "bits per letter" in text_of(browser, "lm-guess-letter .lm-score")


def test_guess_letter_counts_guesses_typed_on_the_keyboard(browser, specimen):
    look(browser, specimen)
    field = find(browser, "lm-guess-letter input")[0]
    field.send_keys("z")
    assert "Not “z”" in text_of(browser, "lm-guess-letter .lm-status")
    field.send_keys("A")  # capitals count as the letter they are
    assert "after 2 guesses" in text_of(browser, "lm-guess-letter .lm-status")
    field.send_keys("w")
    field.send_keys(" ")
    score = text_of(browser, "lm-guess-letter .lm-score")
    assert "you, from 3 letters" in score
    # Guess numbers 2, 1, 1: the entropy of (2/3, 1/3), and twice 1/3 times log2 2 below it.
    upper = -(2 / 3) * math.log2(2 / 3) - (1 / 3) * math.log2(1 / 3)
    assert f"{2 / 3:.2f} to {upper:.2f} bits per letter" in score
    # two different numbers in three letters: (2 - 1) / (2 * 3 ln 2), Miller's first term
    assert f"{1 / (6 * math.log(2)):.2f} bits or more" in score
    press(browser, "lm-guess-letter .lm-button")
    assert "you, from" not in text_of(browser, "lm-guess-letter .lm-score")


def test_guess_letter_bounds_hold_for_worked_cases(browser, specimen):
    look(browser, specimen)
    bounds = browser.execute_script(
        "const f = customElements.get('lm-guess-letter').shannonBounds;"
        "return [[1, 1, 1], [1, 2], [1, 1, 2, 1]].map((g) => [f(g).lower, f(g).upper])"
    )
    # Always right: nothing to learn. Uniform over two: one bit, both ways. Shares 3/4 and 1/4:
    # entropy above, 2 * 1/4 * log2(2) below.
    expected = [[0, 0], [1, 1], [0.5, 0.8112781244591328]]
    for got, want in zip(bounds, expected, strict=True):
        assert got == pytest.approx(want, abs=1e-12)


def test_figures_keep_their_table_for_readers_of_numbers(browser, specimen):
    look(browser, specimen)
    for element, n_rows in (("lm-guess-letter", 27), ("lm-ngram-sampler", 18)):
        press(browser, f"{element} > details > summary")
        assert len(find(browser, f"{element} tbody tr")) >= n_rows


def test_search_works_from_the_file_system(browser, site):
    look(browser, site / "search.html")
    browser.get((site / "search.html").as_uri() + "?q=perplexity")
    browser.implicitly_wait(10)
    assert find(browser, "#search-results li a")
    browser.implicitly_wait(0)
