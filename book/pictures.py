"""Take the pictures that README opens with: `make pictures` after `make course`.

Each shows the upper part of a real page, as a reader, a student and an instructor meet it: a
chapter, the feedback on a submission, and the class at a glance. All people in them are made up.
"""

import argparse
import io
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PIL import Image

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "book" / "pictures"
MOST_BYTES = 400_000
"""All pictures together: they travel with every clone, and every visit to the page."""

FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--hide-scrollbars",
    "--disable-dev-shm-usage",
    "--force-color-profile=srgb",
    "--force-device-scale-factor=1.6",
)


@dataclass(frozen=True)
class View:
    """One picture.

    Attributes:
        name: of the file.
        page: to open.
        at: what is scrolled to the top; by default the page's own.
        only: the column that is kept of the page; by default all of it.
        width, height: of the window, in CSS pixels.
    """

    name: str
    page: Path
    at: str = ""
    only: str = "body"
    width: int = 1100
    height: int = 1000


@contextmanager
def browser() -> Iterator[Any]:
    """Open Chromium without a window."""
    from selenium import webdriver

    program, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not program or not driver:
        sys.exit("chromium and chromedriver take the pictures; on Debian: chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = program
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        for flag in (*FLAGS, f"--user-data-dir={profile}"):
            options.add_argument(flag)
        opened = webdriver.Chrome(options, webdriver.ChromeService(executable_path=driver))
        try:
            yield opened
        finally:
            opened.quit()


def take(opened: Any, view: View) -> Image.Image:
    """Photograph a page once its fonts, formulas and figures stand."""
    opened.set_window_size(view.width, view.height)
    opened.get(view.page.resolve().as_uri())
    opened.set_script_timeout(120)
    opened.execute_async_script(
        "const done = arguments[arguments.length - 1];"
        "Promise.all([document.fonts.ready, window.MathJax?.startup?.promise])"
        ".then(() => setTimeout(done, 800));"
    )
    if view.at:
        opened.execute_script(
            "document.querySelector(arguments[0]).scrollIntoView({block: 'start'})", view.at
        )
    left, right = opened.execute_script(
        "const box = document.querySelector(arguments[0]).getBoundingClientRect();"
        "return [box.left, box.right].map((x) => x * window.devicePixelRatio);",
        view.only,
    )
    whole = Image.open(io.BytesIO(opened.get_screenshot_as_png())).convert("RGB")
    return whole.crop((max(0, int(left)), 0, min(whole.width, int(right)), whole.height))


def save(picture: Image.Image, name: str, folder: Path) -> Path:
    """Write a picture as WebP, small enough and sharp enough to read text in."""
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / f"{name}.webp"
    picture.save(target, "WEBP", quality=82, method=6)
    return target


def main() -> None:
    """Take all pictures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--site", type=Path, default=ROOT / "_build" / "html")
    parser.add_argument("--sample", type=Path, default=ROOT / "_build" / "sample_class")
    parser.add_argument("--out", type=Path, default=FOLDER)
    options = parser.parse_args()
    views = views_of(options.site, options.sample)
    for view in views:
        if not view.page.is_file():
            sys.exit(f"{view.page} is missing: `make course` makes it")
    with browser() as opened:
        files = [save(take(opened, view), view.name, options.out) for view in views]
    total = sum(file.stat().st_size for file in files)
    if total > MOST_BYTES:
        sys.exit(f"the pictures have {total:,} bytes; they may have {MOST_BYTES:,}")
    print(f"{len(files)} pictures, {total / 1000:.0f} kB, in {options.out}")


def views_of(site: Path, sample: Path) -> list[View]:
    """Return what is photographed: a chapter's figure, typical mistakes, and the whole class."""
    mistaken = min((sample / "feedback").glob("typical-mistakes-*"), default=sample / "feedback")
    return [
        View("chapter", site / "chapters" / "self_attention.html", "lm-attention", "main article"),
        View("feedback", mistaken / "ps1" / "ps1.html", "section.card:has(.card.notice)", "main"),
        View("class", sample / "dashboard" / "ps1" / "index.html", only="main"),
    ]


if __name__ == "__main__":
    main()
