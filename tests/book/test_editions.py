"""The book on one page, as PDF and as EPUB: what is kept, what is moved, and where links lead."""

import importlib
import re
import shutil
import subprocess
import sys
import zipfile
from io import BytesIO
from pathlib import Path

import pytest
from lxml import etree
from pypdf import PdfReader

ROOT = Path(__file__).parents[2]
XHTML = "{http://www.w3.org/1999/xhtml}"

SIDEBAR = """\
<nav class="bd-links"><a class="internal" href="#">The book</a><p class="caption">Part one</p>
<a class="internal" href="chapters/one.html">1. One</a>
<a class="internal" href="back/api/course_pkg.html">course_pkg</a></nav>"""
ONE = """\
<section id="one"><h1>1. One<a class="headerlink" href="#one">#</a></h1>
<p class="lm-actions">Download</p>
<p><a href="#one">here</a> <a href="../index.html#start">there</a>
<a href="../back/api/course_pkg.html#course_pkg.plots">API</a> <a href="https://host/">web</a></p>
<details class="hide"><summary>Show code</summary><pre>folded = True</pre></details>
<details><summary>Why so</summary><p>a derivation</p></details>
<div class="dropdown admonition lm-site-only"><p class="admonition-title">A set</p><p>Many rows</p>
</div><div class="toctree-wrapper"><a href="../back/api/course_pkg.html">modules</a></div>
<lm-spin aria-label="A wheel"><script type="application/json">{}</script><details><summary>The same
as a table</summary><table><tbody>ROWS</tbody></table></details></lm-spin>
<svg><clippath id="cut"></clippath><path clip-path="url(#cut)"></path></svg>
<lm-quiz id="quiz-1"><fieldset><legend>Which?</legend><div class="lm-options">
<div class="lm-option" data-correct="true"><label><input type="radio"> <span>this</span></label>
<div class="lm-why"><p><strong>Right.</strong> It is.</p></div></div>
<div class="lm-option" data-correct="false"><label><input type="radio"> <span>that</span></label>
<div class="lm-why"><p><strong>Not this one.</strong> It is not.</p></div></div></div></fieldset>
</lm-quiz>
<div class="exercise admonition" id="try"><p class="admonition-title">
<span class="caption-number">Exercise 1.1</span></p><p>Try.</p></div>
<div class="solution admonition" id="chapters/one-solution-1"><p class="admonition-title">Solution
</p><p>Tried.</p></div></section>""".replace("ROWS", "<tr><td>a row</td></tr>" * 20)


@pytest.fixture
def one_page():
    """Import the module as `book/editions.py` does."""
    sys.path.insert(0, str(ROOT / "book" / "_ext"))
    yield importlib.import_module("coursebook.one_page")
    sys.path.remove(str(ROOT / "book" / "_ext"))


@pytest.fixture
def chapter(one_page, tmp_path):
    """Prepare a site of two pages, and return the chapter as the one page has it."""

    def prepared(address=""):
        for name, body in {
            "index": f'{SIDEBAR}<article class="bd-article"><p id="start">\x1b</p></article>',
            "chapters/one": f'<article class="bd-article">{ONE}</article>',
        }.items():
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / f"{name}.html").write_text(body)
        first, page = one_page.prepare(tmp_path, address)  # and none of the API
        assert (page.name, page.part, page.title) == ("chapters/one", "Part one", "1. One")
        assert "\x1b" not in str(first.article)  # no XML may hold it
        return page.article

    return prepared


def test_links_lead_within_the_page_to_the_site_or_nowhere(chapter):
    article = chapter()
    assert [(a.get_text(), a["href"]) for a in article.select("p > a")][:3] == [
        ("here", "#chapters-one--one"),
        ("there", "#index--start"),
        ("web", "https://host/"),
    ]
    ids = {tag["id"] for tag in article.select("[id]")}
    links = {a["href"][1:] for a in article.select("a[href^='#chapters']")}
    assert links <= ids
    assert article.select_one("path")["clip-path"] == "url(#chapters-one--cut)"
    assert article.select_one("clippath")["id"] == "chapters-one--cut"
    article = chapter("https://host/book/")
    assert 'href="https://host/book/back/api/course_pkg.html#course_pkg.plots"' in str(article)


@pytest.mark.parametrize("address", ["", "https://host/book/"])
def test_a_figure_to_touch_becomes_its_table_with_the_address_of_its_page(chapter, address):
    still = chapter(address).select_one(".lm-still")
    said = still.select_one(".lm-where").get_text()
    assert said == f"Interactive in the browser: {address}chapters/one.html"
    assert bool(still.select("a")) == bool(address)
    rows = [row.get_text() for row in still.select("tr")]
    assert rows == ["a row"] * 12 + ["and 8 more rows"]


def test_folds_are_opened_or_left_out_and_answers_stand_at_the_end(chapter):
    article = chapter()
    text = article.get_text(" ", strip=True)
    folded = ("Show code", "folded", "Download", "The same as a table", "#")
    for gone in (*folded, "Many rows", "modules"):
        assert gone not in text
    assert "Why so a derivation" in text
    assert "A set: in the browser, chapters/one.html" in text
    question, _, answers = text.partition("Answers")
    assert "Question 1. Which? this that" in question and "Tried." not in question
    assert re.search(r"\(a\)\s+Right. It is.\s+\(b\)\s+Not this one. It is not.", answers)
    assert re.search(r"Exercise 1.1\s+Tried.", answers)
    assert not article.select("details, summary, input, script, lm-quiz, h1")


@pytest.mark.slow
@pytest.mark.browser
def test_specimen_becomes_a_pdf_and_an_epub(specimen, tmp_path):
    """With links that lead to their places, and every file of the EPUB well formed."""
    if not (
        shutil.which("chromedriver") and (shutil.which("chromium") or shutil.which("google-chrome"))
    ):
        pytest.skip("chromium and chromedriver are not installed (Debian: chromium-driver)")
    shutil.copytree(specimen.parent, tmp_path / "html")
    command = [sys.executable, str(ROOT / "book" / "editions.py"), "pdf", "epub"]
    subprocess.run([*command, "--site", str(tmp_path / "html")], check=True)

    pdf = PdfReader(BytesIO((tmp_path / "language-models-by-hand.pdf").read_bytes()))
    text = "\n".join(page.extract_text() for page in pdf.pages)
    assert re.search(r"Interactive in the browser: \S*specimen.html", text)
    assert "import numpy as np" in text
    assert "Exercise 1" in text.partition("Answers")[2]
    contents = next(page for page in pdf.pages if "Contents" in page.extract_text())
    place = pdf.named_destinations["/specimen"]
    number = pdf.get_destination_page_number(place) + 1
    assert re.search(rf"Specimen\s*{number}\b", contents.extract_text())
    assert "Specimen" in str(pdf.outline)
    assert pdf.trailer["/Root"]["/MarkInfo"]["/Marked"]  # tagged, for screen readers

    with zipfile.ZipFile(tmp_path / "language-models-by-hand.epub") as archive:
        assert archive.namelist()[0] == "mimetype"
        files = {name: archive.read(name) for name in archive.namelist()}
    package = etree.fromstring(files["book/package.opf"])
    items = {f"book/{item.get('href')}" for item in package.iter("{*}item")}
    assert items == {name for name in files if name.startswith("book/")} - {"book/package.opf"}
    trees = {name: etree.fromstring(files[name]) for name in items if name.endswith(".xhtml")}
    ids = {name: [tag.get("id") for tag in tree.iter("{*}*")] for name, tree in trees.items()}
    assert not any(len(names := list(filter(None, of))) - len(set(names)) for of in ids.values())
    for tree in trees.values():
        for link in tree.iter(f"{XHTML}a"):
            name, _, anchor = link.get("href").partition("#")
            if not name.startswith("http"):
                assert not anchor or anchor in ids[f"book/{name}"], link.get("href")
    page = trees["book/specimen.xhtml"]
    mathml = "{http://www.w3.org/1998/Math/MathML}"
    assert page.find(f".//{mathml}munderover") is not None
    sides = [cell.get("style").partition(";")[0] for cell in page.iter(f"{mathml}mtd")]
    assert sides[-4:] == ["text-align: right", "text-align: left"] * 2
    assert {sign.get("rspace") for sign in page.iter(f"{mathml}mo") if sign.text == "\u2061"} == {
        "0.17em"
    }
    assert page.find(".//{http://www.w3.org/2000/svg}svg").get("viewBox")
    assert not list(page.iter(f"{XHTML}script", f"{XHTML}button", f"{XHTML}input"))
