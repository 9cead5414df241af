"""Make the book as one PDF or EPUB from the built site: `python book/editions.py pdf epub`.

Chromium lays the pages out with their formulas, so no LaTeX is needed and no cell runs. The PDF is
what Chromium prints; the EPUB holds the same pages, their formulas as MathML.
"""

import argparse
import base64
import html
import json
import re
import shutil
import sys
import tempfile
import tomllib
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from lxml import etree
from pypdf import PdfReader

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "book" / "_ext"))

from coursebook.one_page import Page, prepare  # noqa: E402
from coursebook.settings import read_settings  # noqa: E402

TITLE = "Language Models by Hand"
SUBTITLE = "From n-grams to GPT and BERT"
NAME = "language-models-by-hand"
STYLES = ("pygments.css", "coursebook.css", "editions.css")
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--hide-scrollbars",
    "--disable-dev-shm-usage",
)
PATIENCE_SECONDS = 1800
CHUNK = 1 << 20

ABOUT = """\
<p>This is the book as it can be printed or carried along. Code that is folded up on the site, most
of which draws the figures, is left out; what the reader can use there appears as a table with the
address of its page; answers to questions and exercises stand at the end of their chapter. The
reference of the package, one page for each module, and the tables of misconceptions that the
checks know are on the site alone.</p>
<p>Text and figures: <a href="https://creativecommons.org/licenses/by/4.0/">CC BY 4.0</a>.
Code: <a href="https://www.apache.org/licenses/LICENSE-2.0">Apache 2.0</a>.</p>"""

# Wide formulas and tables are made as small as the width of the page demands.
SCRIPT = """\
window.MathJax = {
  options: {enableMenu: false, enableAssistiveMml: true, processHtmlClass: "math"},
  startup: {pageReady: () => MathJax.startup.defaultPageReady().then(() => {
    for (const box of document.querySelectorAll("div.math, table")) {
      const room = box.parentElement.clientWidth;
      const width = box.scrollWidth;
      if (width > room + 1) box.style.zoom = Math.max(0.4, room / width);
    }
    document.documentElement.dataset.ready = "";
  })},
};"""

# In print only: e-readers have margins of their own, and not all know these rules.
SHEET = """\
@page {
  size: A4;
  margin: 20mm 21mm 18mm;
  @top-left { font: 8pt sans-serif; color: #5c6470; content: ""; }
  @bottom-center { font: 8pt sans-serif; color: #5c6470; content: counter(page); }
}
@page :first { @top-left { content: ""; } @bottom-center { content: ""; } }
"""

# Formulas become MathML, with their source for readers that know none; then each page is XML.
# Columns are aligned by styles, and "log p" gets its gap, as MathML Core has neither by itself.
CUT = """\
for (const formula of document.querySelectorAll("mjx-container")) {
  const math = formula.querySelector("mjx-assistive-mml > math");
  for (const grid of math.querySelectorAll("mtable[columnalign]")) {
    const [sides, gaps] = ["columnalign", "columnspacing"].map(
      (name) => (grid.getAttribute(name) ?? "1em").split(" "));
    for (const row of grid.children)
      [...row.children].forEach((cell, i) => {
        const gap = i < row.children.length - 1 ? gaps[Math.min(i, gaps.length - 1)] : "0";
        cell.setAttribute("style", `text-align: ${sides[Math.min(i, sides.length - 1)]}; ` +
          `padding-left: 0; padding-right: ${gap}`);
      });
  }
  for (const sign of math.querySelectorAll("mo"))
    if (sign.textContent === "\u2061" && sign.nextElementSibling?.textContent[0] !== "(")
      sign.setAttribute("rspace", "0.17em");
  for (const part of [math, ...math.querySelectorAll("*")])
    for (const name of part.getAttributeNames())
      if (name.startsWith("data-") || name === "class") part.removeAttribute(name);
  formula.replaceWith(math);
}
const writer = new XMLSerializer();
return [...document.querySelectorAll("main > .lm-page")].map(
  (page) => [page.id, page.dataset.title, writer.serializeToString(page)]);"""


def version() -> str:
    """Return the version of the course."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return str(settings["project"]["version"])


# ---------------------------------------------------------------- one page of all pages


def leaves(pages: list[Page], address: str) -> Iterator[tuple[str, str, str]]:
    """Yield key, title and HTML of everything that begins on a leaf of its own."""
    where = f'<p><a href="{html.escape(address)}">{html.escape(address)}</a></p>' if address else ""
    yield (
        "title-page",
        TITLE,
        f'<h1 class="lm-title">{TITLE}</h1><p class="lm-subtitle">{SUBTITLE}</p>'
        f'<p class="lm-edition">Version {version()}</p>{where}<div class="lm-about">{ABOUT}</div>',
    )
    yield "contents", "Contents", contents_of(pages)
    part = ""
    for page in pages:
        if page.part != part:
            part = page.part
            yield part_key(part), part, f'<h1 class="lm-part">{html.escape(part)}</h1>'
        yield page.key, page.title, page.article.decode_contents()


def part_key(part: str) -> str:
    """Return the id of a part's leaf."""
    return "part-" + re.sub(r"\W+", "-", part.lower())


def contents_of(pages: list[Page]) -> str:
    """Return the table of contents: parts, pages, and the sections of chapters."""
    lines, part = ['<p class="lm-contents-title">Contents</p>'], ""
    for page in pages:
        if page.part != part:
            part = page.part
            lines.append(_entry("part", part_key(part), html.escape(part)))
        lines.append(_entry("page", page.key, html.escape(page.title)))
        if page.name.startswith("chapters/"):
            for heading in page.article.select("section > section > h3"):
                key = heading.parent["id"]
                lines.append(_entry("section", key, heading.decode_contents()))
    return f'<div class="lm-contents">{"".join(lines)}</div>'


def _entry(kind: str, key: str, title: str) -> str:
    number = f'<span class="lm-number" data-of="{key}"></span>'
    return f'<p class="lm-to-{kind}"><a href="#{key}"><span>{title}</span>{number}</a></p>'


def compose(pages: list[Page], site: Path, address: str) -> Path:
    """Write the one page that Chromium opens beside the site, and return where it is."""
    folder = site.parent / "editions"
    folder.mkdir(exist_ok=True)
    head = [f'<link rel="stylesheet" href="../{site.name}/_static/{name}">' for name in STYLES]
    # The head of a page in print shows what is being read, which a rule for each page has to say.
    running = {page.key for page in pages}
    rules, body = [], []
    for key, title, content in leaves(pages, address):
        name = "p" + re.sub(r"\W", "-", key)
        if key in running:
            said = json.dumps(title, ensure_ascii=False)
            rules.append(f"@page {name} {{ @top-left {{ content: {said}; }} }}\n")
        body.append(
            f'<section class="lm-page" id="{key}" style="page: {name}" '
            f'data-title="{html.escape(title)}">{content}</section>\n'
        )
    page = folder / "book.html"
    page.write_text(
        f'<!doctype html>\n<html lang="en" data-theme="light"><head><meta charset="utf-8">'
        f"<title>{TITLE}</title>{''.join(head)}<style>{SHEET}{''.join(rules)}</style>"
        f"<script>{SCRIPT}</script>"
        f'<script defer src="../{site.name}/_static/mathjax/tex-mml-chtml.js"></script></head>'
        f"<body><main>{''.join(body)}</main></body></html>",
        encoding="utf-8",
    )
    return page


@contextmanager
def opened(page: Path, query: str = "") -> Iterator[Any]:
    """Open a page in Chromium, wait until its formulas are set, and give the browser.

    Args:
        query: what follows the page's address, as "?print-pdf".

    Raises:
        SystemExit: Chromium or its driver is not installed.
    """
    from selenium import webdriver
    from selenium.webdriver.support.ui import WebDriverWait

    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    driver = shutil.which("chromedriver")
    if not chromium or not driver:
        raise SystemExit(
            "Chromium and its driver lay the pages out, and they are not installed "
            "(Debian or Ubuntu: sudo apt-get install chromium chromium-driver)"
        )
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        options = webdriver.ChromeOptions()
        options.binary_location = chromium
        for flag in (*FLAGS, "--allow-file-access-from-files", f"--user-data-dir={profile}"):
            options.add_argument(flag)
        service = webdriver.ChromeService(executable_path=driver)
        browser = webdriver.Chrome(options=options, service=service)
        try:
            browser.command_executor.client_config.timeout = PATIENCE_SECONDS
            browser.set_page_load_timeout(PATIENCE_SECONDS)
            browser.set_script_timeout(PATIENCE_SECONDS)
            browser.get(page.as_uri() + query)
            WebDriverWait(browser, PATIENCE_SECONDS, poll_frequency=1).until(
                lambda browser: browser.execute_script(
                    "return 'ready' in document.documentElement.dataset"
                )
            )
            yield browser
        finally:
            browser.quit()


# ---------------------------------------------------------------- PDF


def printed(browser: Any) -> bytes:
    """Return what Chromium prints, with bookmarks and tags for screen readers."""
    settings = {
        "printBackground": True,
        "preferCSSPageSize": True,
        "generateDocumentOutline": True,
        "generateTaggedPDF": True,
        "transferMode": "ReturnAsStream",
    }
    stream = browser.execute_cdp_cmd("Page.printToPDF", settings)["stream"]
    parts = []
    while True:
        read = browser.execute_cdp_cmd("IO.read", {"handle": stream, "size": CHUNK})
        data = read["data"]
        parts.append(base64.b64decode(data) if read.get("base64Encoded") else data.encode())
        if read["eof"]:
            return b"".join(parts)


def page_numbers(pdf: bytes) -> dict[str, int]:
    """Return on which page each anchor that something links to stands, from 1."""
    reader = PdfReader(BytesIO(pdf))
    return {
        unquote(name.lstrip("/")): reader.get_destination_page_number(place) + 1
        for name, place in reader.named_destinations.items()
    }


def make_pdf(page: Path, target: Path) -> None:
    """Print the book twice: where its chapters begin is known only after the first time."""
    with opened(page) as browser:
        numbers = page_numbers(printed(browser))
        browser.execute_script(
            "for (const place of document.querySelectorAll('.lm-number'))"
            " place.textContent = arguments[0][place.dataset.of] ?? '';",
            numbers,
        )
        target.write_bytes(printed(browser))


# ---------------------------------------------------------------- EPUB

CONTAINER = """\
<?xml version="1.0" encoding="UTF-8"?>
<container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container">
  <rootfiles>
    <rootfile full-path="book/package.opf" media-type="application/oebps-package+xml"/>
  </rootfiles>
</container>
"""
XHTML = """\
<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE html>
<html xmlns="http://www.w3.org/1999/xhtml" xmlns:epub="http://www.idpf.org/2007/ops" lang="en"
 xml:lang="en" data-theme="light">
<head><title>{title}</title>{styles}</head>
<body>{body}</body>
</html>
"""
PACKAGE = """\
<?xml version="1.0" encoding="UTF-8"?>
<package xmlns="http://www.idpf.org/2007/opf" version="3.0" unique-identifier="id" xml:lang="en">
<metadata xmlns:dc="http://purl.org/dc/elements/1.1/">
<dc:identifier id="id">{identifier}</dc:identifier>
<dc:title>{title}</dc:title>
<dc:creator>the contributors to {title}</dc:creator>
<dc:language>en</dc:language>
<dc:rights>Text and figures: CC BY 4.0. Code: Apache 2.0.</dc:rights>
<meta property="dcterms:modified">{modified}</meta>
<meta property="schema:accessMode">textual</meta>
<meta property="schema:accessMode">visual</meta>
<meta property="schema:accessibilityFeature">MathML</meta>
<meta property="schema:accessibilityFeature">alternativeText</meta>
<meta property="schema:accessibilityFeature">tableOfContents</meta>
<meta property="schema:accessibilityHazard">none</meta>
</metadata>
<manifest>
{manifest}
</manifest>
<spine>
{spine}
</spine>
</package>
"""
MEDIA_TYPES = {".svg": "image/svg+xml", ".png": "image/png", ".jpg": "image/jpeg"}


def page_xhtml(title: str, section: str, file_of: dict[str, str]) -> str:
    """Return the file of one leaf, its links leading from file to file.

    Raises:
        lxml.etree.XMLSyntaxError: the page is not well formed.
    """
    root = etree.fromstring(section.encode())
    for name in ("style", "data-title"):
        root.attrib.pop(name, None)
    for tag in root.iter("{http://www.w3.org/1999/xhtml}a"):
        link = tag.get("href", "")
        if link.startswith("#"):
            tag.set("href", file_of[link[1:].partition("--")[0]] + link)
    for tag in root.iter("{http://www.w3.org/1999/xhtml}img"):
        tag.set("src", "images/" + tag.get("src", "").rpartition("/")[2])
    styles = "".join(f'<link rel="stylesheet" href="{name}"/>' for name in STYLES)
    body = etree.tostring(root, encoding="unicode")
    return XHTML.format(title=html.escape(title), styles=styles, body=body)


def navigation(pages: list[Page]) -> str:
    """Return the table of contents that an e-reader shows: parts, and the pages below them."""
    lines: list[str] = []
    part = ""
    for page in pages:
        if page.part != part:
            lines += ["</ol></li>"] if part else []
            part = page.part
            lines.append(f'<li><a href="{part_key(part)}.xhtml">{html.escape(part)}</a><ol>')
        lines.append(f'<li><a href="{page.key}.xhtml">{html.escape(page.title)}</a></li>')
    lines += ["</ol></li>"] if part else []
    listed = "\n".join(lines)
    body = f'<nav epub:type="toc" id="toc"><h1>Contents</h1><ol>{listed}</ol></nav>'
    return XHTML.format(title="Contents", styles="", body=body)


def make_epub(page: Path, pages: list[Page], site: Path, target: Path) -> None:
    """Cut the page into the files of an EPUB 3, with the styles of the site, and pack them."""
    with opened(page) as browser:
        cut = browser.execute_script(CUT)
    cut = [leaf for leaf in cut if leaf[0] != "contents"]  # an e-reader has its own
    file_of = {key: f"{key}.xhtml" for key, _, _ in cut}
    files = {f"{key}.xhtml": page_xhtml(title, text, file_of).encode() for key, title, text in cut}
    manifest, spine = [], []
    for number, (name, content) in enumerate(files.items()):
        kinds = {"mathml": b"<math", "svg": b"<svg"}
        has = " ".join(kind for kind, mark in kinds.items() if mark in content)
        properties = f' properties="{has}"' if has else ""
        manifest.append(
            f'<item id="i{number}" href="{name}" media-type="application/xhtml+xml"{properties}/>'
        )
        spine.append(f'<itemref idref="i{number}"/>')
    manifest.append(
        '<item id="nav" href="nav.xhtml" media-type="application/xhtml+xml" properties="nav"/>'
    )
    files["nav.xhtml"] = navigation(pages).encode()
    static = site / "_static"
    for name in STYLES:
        files[name] = (static / name).read_bytes()
        manifest.append(f'<item id="{name}" href="{name}" media-type="text/css"/>')
    for source in {tag["src"] for one in pages for tag in one.article.select("img[src]")}:
        image = page.parent / source
        files[f"images/{image.name}"] = image.read_bytes()
        kind = MEDIA_TYPES[image.suffix]
        manifest.append(f'<item id="{image.name}" href="images/{image.name}" media-type="{kind}"/>')
    files["package.opf"] = PACKAGE.format(
        identifier=f"{NAME}-{version()}",
        title=TITLE,
        modified=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        manifest="\n".join(manifest),
        spine="\n".join(spine),
    ).encode()
    with zipfile.ZipFile(target, "w") as archive:
        archive.writestr("mimetype", "application/epub+zip", zipfile.ZIP_STORED)
        archive.writestr("META-INF/container.xml", CONTAINER, zipfile.ZIP_DEFLATED)
        for name, content in files.items():
            archive.writestr(f"book/{name}", content, zipfile.ZIP_DEFLATED)


def main() -> int:
    """Parse the command line, make the editions, and say where they are."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kinds", nargs="+", choices=("pdf", "epub"), metavar="pdf|epub")
    parser.add_argument("--site", type=Path, default=ROOT / "_build" / "html", help="built book")
    parser.add_argument("--only", nargs="+", metavar="PAGE", help="some pages, as chapters/ngrams")
    args = parser.parse_args()
    site = args.site.resolve()
    address = read_settings().address
    pages = prepare(site, address, args.only)
    page = compose(pages, site, address)
    for kind in args.kinds:
        target = site.parent / f"{NAME}.{kind}"
        if kind == "pdf":
            make_pdf(page, target)
        else:
            make_epub(page, pages, site, target)
        print(f"the book as {kind.upper()}: {target}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
