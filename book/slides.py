"""Make the slides of the lectures from the built book, and print them: `python book/slides.py`.

`make book` makes the decks, too; this prints each as PDF, into `_build/slides/`, and names each
slide that is too full (a table that has grown in the chapter would be cut off in the lecture) and
each with a figure whose letters are too small to be read from the last row.
"""

import argparse
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "book" / "_ext"), str(ROOT / "book")]

from coursebook.slides import DeckError, make_decks  # noqa: E402
from editions import opened, printed  # noqa: E402

# Of a deck opened to be printed: by how much each slide's parts end below it, or right of it.
TOO_FULL = """
return Reveal.getSlides().map((slide, place) => {
  const edge = slide.getBoundingClientRect();
  const parts = [...slide.querySelectorAll(":scope > :not(.notes), .lm-shown > *")]
    .map((part) => part.getBoundingClientRect()).filter((box) => box.width);
  const over = parts.map((box) => Math.max(box.bottom - edge.bottom, box.right - edge.right));
  return [place + 1, slide.querySelector("h1, h2").textContent, Math.round(Math.max(0, ...over))];
}).filter(([, , over]) => over > 2);
"""

SMALLEST = 16
"""Pixels of a letter in a figure, of the 720 that a slide is high."""

# The smallest letters of each slide's figures, as they are shown: drawn to scale, or zoomed.
TOO_SMALL = """
const smallest = arguments[0];
const size = (part) => {
  while (/^(sub|sup|tspan)$/i.test(part.tagName)) part = part.parentElement;  // smaller on purpose
  const at = part.getScreenCTM?.();  // of what is drawn
  const scale = at ? Math.sqrt(Math.abs(at.a * at.d - at.b * at.c)) : part.currentCSSZoom ?? 1;
  return scale * parseFloat(getComputedStyle(part).fontSize);
};
const isSeen = (text) => {
  const range = document.createRange();
  range.selectNodeContents(text);
  const box = range.getBoundingClientRect();
  return text.data.trim() && box.width > 1 && box.height > 1
    && text.parentElement.checkVisibility({ opacityProperty: true, visibilityProperty: true })
    && !text.parentElement.closest("title, desc, mjx-assistive-mml");
};
return Reveal.getSlides().flatMap((slide, place) => {
  const found = [];
  for (const figure of slide.querySelectorAll(".lm-shown-figure, .lm-shown-live")) {
    const texts = document.createTreeWalker(figure, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
      if (isSeen(texts.currentNode))
        found.push([size(texts.currentNode.parentElement), texts.currentNode.data.trim()]);
    }
  }
  const [least, text] = found.sort(([one], [other]) => one - other)[0] ?? [smallest];
  const title = slide.querySelector("h1, h2").textContent;
  return least < smallest - 0.05 ? [[place + 1, title, text, Math.round(least * 10) / 10]] : [];
});
"""


def too_full(browser: Any) -> list[str]:
    """Return a line for each slide of the deck, opened to be printed, that does not show all."""
    return [
        f"slide {place}, {title!r}: {pixels} of 720 pixels too much"
        for place, title, pixels in browser.execute_script(TOO_FULL)
    ]


def too_small(browser: Any) -> list[str]:
    """Return a line for each slide of the deck, opened to be printed, with small letters."""
    return [
        f"slide {place}, {title!r}: {text[:40]!r} is {pixels:g} of 720 pixels high; "
        f"{SMALLEST} at least"
        for place, title, text, pixels in browser.execute_script(TOO_SMALL, SMALLEST)
    ]


def main() -> int:
    """Make the decks and print them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--site", type=Path, default=ROOT / "_build" / "html", help="built book")
    parser.add_argument("--no-pdf", action="store_true", help="pages alone, without Chromium")
    args = parser.parse_args()
    site = args.site.resolve()
    try:
        decks = make_decks(site)
    except DeckError as error:
        print(error, file=sys.stderr)
        return 1
    problems: list[str] = []
    for deck in decks:
        print(f"slides: {deck}")
        if not args.no_pdf:
            target = site.parent / "slides" / f"{deck.stem}.pdf"
            target.parent.mkdir(exist_ok=True)
            with opened(deck, "?print-pdf") as browser:
                lines = [*too_full(browser), *too_small(browser)]
                problems += [f"{deck.stem}.md, {line}" for line in lines]
                target.write_bytes(printed(browser))
            print(f"to print: {target}")
    print(*problems, sep="\n", file=sys.stderr, end="\n" if problems else "")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
