"""Make the slides of the lectures from the built book, and print them: `python book/slides.py`.

`make book` makes the decks, too; this prints each as PDF, into `_build/slides/`.
"""

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "book" / "_ext"), str(ROOT / "book")]

from coursebook.slides import DeckError, make_decks  # noqa: E402
from editions import opened, printed  # noqa: E402


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
    for deck in decks:
        print(f"slides: {deck}")
        if not args.no_pdf:
            target = site.parent / "slides" / f"{deck.stem}.pdf"
            target.parent.mkdir(exist_ok=True)
            with opened(deck, "?print-pdf") as browser:
                target.write_bytes(printed(browser))
            print(f"to print: {target}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
