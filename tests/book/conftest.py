"""One build of the book and of a small specimen for all tests here, and a browser to open them."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from course_pkg.weights.pretrained import SHIPPED
from course_pkg.weights.web_export import export_web

ROOT = Path(__file__).parents[2]
CHROMIUM_FLAGS = (
    "--headless=new",
    "--no-sandbox",  # the tests may run as root in a container
    "--disable-gpu",
    "--disable-dev-shm-usage",  # a container may have little of it
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--hide-scrollbars",
)


def build(book: Path, output: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Build as a reader would; the status and the log tell what happened."""
    command = [sys.executable, str(ROOT / "book" / "build.py")]
    command += ["--book", str(book), "--output", str(output), *options]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "NO_COLOR": "1"}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def small_book(folder: Path, pages: dict[str, str]) -> Path:
    """Write a book of a title page and the given pages."""
    book = folder / "book"
    shutil.copytree(ROOT / "book" / "_assets", book / "_assets")
    (book / "references.bib").write_text("")
    (book / "index.md").write_text("# A small book\n")
    chapters = "".join(f"  - file: {name}\n" for name in pages)
    (book / "_toc.yml").write_text(f"format: jb-book\nroot: index\nchapters:\n{chapters}")
    for name, text in pages.items():
        (book / f"{name}.md").write_text(text)
    return book


@pytest.fixture
def book_of(tmp_path: Path) -> Callable[[dict[str, str]], subprocess.CompletedProcess[str]]:
    """Write and build a book of the given pages below `tmp_path`; call again to build again."""

    def build_pages(pages: dict[str, str]) -> subprocess.CompletedProcess[str]:
        shutil.rmtree(tmp_path / "book", ignore_errors=True)
        return build(small_book(tmp_path, pages), tmp_path)

    return build_pages


@pytest.fixture(scope="session")
def site() -> Path:
    """The whole book, built where a reader builds it, so that its cache serves both."""
    result = build(ROOT / "book", ROOT)
    assert result.returncode == 0, result.stdout[-6000:] + result.stderr[-6000:]
    return ROOT / "_build" / "html"


@pytest.fixture(scope="session")
def specimen(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page with one of everything that a chapter may use."""
    folder = tmp_path_factory.mktemp("specimen")
    book = folder / "book"
    shutil.copytree(Path(__file__).parent / "specimen", book)
    shutil.copytree(ROOT / "book" / "_assets", book / "_assets")
    result = build(book, folder)
    assert result.returncode == 0, result.stdout[-6000:] + result.stderr[-6000:]
    return folder / "_build" / "html" / "specimen.html"


def write_site(site: Path, models: Sequence[str]) -> Path:
    """Put the book's scripts into a folder, and the weights where the engine looks for them."""
    shutil.copytree(ROOT / "book" / "_assets", site, dirs_exist_ok=True)
    for name in models:
        export_web(SHIPPED / name, site / "models")
    return site


@pytest.fixture(scope="session")
def shipped_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for pages with figures that compute with the shipped models."""
    return write_site(tmp_path_factory.mktemp("shipped"), ("gpt-small", "bert-small"))


def open_figure(browser: Any, site: Path, body: str = "", *scripts: str) -> None:
    """Open a page with this body and these figures' scripts, from the file system."""
    page = site / "page.html"
    tags = "".join(f'<script defer src="{name}"></script>' for name in scripts)
    page.write_text(
        '<!doctype html><html lang="en" data-theme="light"><head><title>A figure</title>'
        '<meta charset="utf-8"><link rel="stylesheet" href="coursebook.css">'
        '<script defer src="lm-base.js"></script><script defer src="lm-engine.js"></script>'
        f"{tags}</head><body><main><h1>A figure</h1>{body}</main></body></html>",
        encoding="utf-8",
    )
    browser.get_log("browser")
    browser.set_script_timeout(120)
    browser.get(page.as_uri())


def open_chromium(profile: Path) -> Any | None:
    """Start a headless Chromium that logs its console and every request; None if there is none."""
    from selenium import webdriver

    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    chromedriver = shutil.which("chromedriver")
    if not chromium or not chromedriver:
        return None
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in (*CHROMIUM_FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    service = webdriver.ChromeService(executable_path=chromedriver)
    return webdriver.Chrome(options=options, service=service)


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[object]:
    """The browser of all tests here."""
    pytest.importorskip("selenium.webdriver")
    driver = open_chromium(tmp_path_factory.mktemp("chromium"))
    if driver is None:
        pytest.skip("chromium and chromedriver are not installed (Debian: chromium-driver)")
    yield driver
    driver.quit()
