"""Papers of the course's own, syllabus and exams: Markdown in, a page of HTML and a PDF out.

What stands in them was written by the course, never by a student.
"""

import shutil
import subprocess
from pathlib import Path

from markdown_it import MarkdownIt
from markupsafe import Markup

from autograder.records import GraderError
from autograder.reports.html import render
from autograder.temporary import temporary_folder

_SECONDS = 120
_FLAGS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run"),
    *("--disable-dev-shm-usage", "--no-pdf-header-footer"),
)


def fragment(markdown: str) -> str:
    """Return Markdown as HTML: CommonMark with tables; HTML in it stays text."""
    html: str = MarkdownIt("commonmark", {"html": False}).enable("table").render(markdown)
    return html


def page(title: str, markdown: str) -> str:
    """Return Markdown as a page of its own, to read and to print."""
    return render("document.html", title=title, content=Markup(fragment(markdown)), images=True)


def chromium() -> str | None:
    """Return the browser that prints; None if there is none."""
    return shutil.which("chromium") or shutil.which("google-chrome")


def print_pdf(source: Path, target: Path) -> None:
    """Print a page of this folder as PDF.

    Raises:
        GraderError: if there is no Chromium, or it prints nothing; says what it said.
    """
    browser = chromium()
    if browser is None:
        raise GraderError(
            "Chromium makes the PDF, and it is not installed (Debian or Ubuntu: sudo apt-get "
            f"install chromium); {source} can be printed from any browser"
        )
    with temporary_folder("chromium") as profile:
        made = profile / "made.pdf"
        command = [browser, *_FLAGS, f"--user-data-dir={profile}", f"--print-to-pdf={made}"]
        try:
            run = subprocess.run(
                [*command, source.resolve().as_uri()],
                capture_output=True,
                text=True,
                timeout=_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise GraderError(f"Chromium did not print {source} in {_SECONDS} s") from None
        if not made.is_file():
            last = "\n".join(run.stderr.strip().splitlines()[-1:])
            raise GraderError(f"Chromium did not print {source}: {last}")
        target.write_bytes(made.read_bytes())
