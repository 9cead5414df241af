"""The finished book as files: links, alternative texts, assets, notebooks."""

import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

import nbformat
import pytest
from bs4 import BeautifulSoup

from autograder.authoring.course import Course
from autograder.authoring.edition import make
from autograder.authoring.secrets import CHECK, MISTAKE, SOLUTION

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
OWN_LICENCE_LINKS = {"creativecommons.org", "www.apache.org"}


def pages(site: Path) -> dict[Path, BeautifulSoup]:
    """Every page of the site, parsed."""
    found = [page for page in site.rglob("*.html") if "_static" not in page.parts]
    return {page: BeautifulSoup(page.read_text(encoding="utf-8"), "html.parser") for page in found}


@pytest.fixture(scope="module")
def parsed(site) -> dict[Path, BeautifulSoup]:
    return pages(site)


def test_site_has_the_pages_of_its_contents(site):
    assert {"index.html", "404.html", "search.html"} <= {path.name for path in site.iterdir()}
    assert (site / "back" / "api" / "course_pkg.plots.html").exists()


def test_links_lead_to_a_page_and_an_anchor(parsed):
    ids = {page: {tag["id"] for tag in soup.find_all(id=True)} for page, soup in parsed.items()}
    broken = []
    for page, soup in parsed.items():
        if page.name == "404.html":  # its links start at the site's root
            continue
        for link in soup.find_all("a", href=True):
            parts = urlsplit(link["href"])
            if parts.scheme or link["href"] == "#":
                continue
            target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            anchor = unquote(parts.fragment)
            if not target.exists() or (anchor and target in ids and anchor not in ids[target]):
                broken.append(f"{page.name}: {link['href']}")
    assert not broken


LOADS = {"script": "src", "link": "href", "img": "src", "iframe": "src", "source": "src"}


def test_nothing_is_loaded_from_another_host(parsed):
    """Nor does a page hold a notebook widget, whose scripts would come from two of them."""
    foreign = []
    for page, soup in parsed.items():
        for found in soup.find_all(list(LOADS)):
            if urlsplit(found.get(LOADS[found.name], "")).netloc and "canonical" not in found.get(
                "rel", ()
            ):
                foreign.append(f"{page.name}: {found}")
        text = page.read_text(encoding="utf-8")
        foreign += [
            f"{page.name}: {word}"
            for word in ("vnd.jupyter.widget", "require.min.js", "thebelab", "url(http")
            if word in text.lower()
        ]
    assert not foreign


def test_images_and_figures_are_described(parsed):
    missing = []
    for page, soup in parsed.items():
        missing += [
            f"{page.name}: {tag}" for tag in soup.find_all("img") if not tag.has_attr("alt")
        ]
        for svg in soup.select(".lm-figure svg"):
            if svg.get("role") != "img" or not svg.get("aria-label", "").strip():
                missing.append(f"{page.name}: a figure without words")
    assert not missing


def test_labels_of_all_figures_have_ten_pixels_on_a_phone(parsed):
    """What a figure may not fall short of is its least width; what is wider than a phone scrolls.

    An exponent or an index is a part of its label and smaller than it.
    """
    small = []
    for page, soup in parsed.items():
        for svg in soup.select(".lm-figure svg"):
            (least,) = re.findall(r"min-width: (\d+)px", svg["style"])
            width = float(svg.get("viewbox", svg.get("viewBox")).split()[2])
            for label in svg.select("text"):
                sizes = re.findall(r"font-size: ([\d.]+)px", str(label))
                pixels = max(map(float, sizes)) * int(least) / width
                if pixels < 9.95:  # the least width is a whole number
                    small.append(f"{page.name}: {label.get_text()!r} has {pixels:.1f} px")
    assert not small


def test_ids_are_unique_on_a_page(parsed):
    for page, soup in parsed.items():
        ids = [tag["id"] for tag in soup.select("main [id]")]
        repeated = {name for name in ids if ids.count(name) > 1}
        # MathJax's and the theme's own ids are not ours to fix; figures and exercises are.
        assert not {name for name in repeated if re.match(r"quiz|exercise|m[0-9a-f]{10}", name)}, (
            page
        )


def test_pages_name_both_licences(parsed):
    for page, soup in parsed.items():
        hosts = {urlsplit(link["href"]).netloc for link in soup.select("footer a[href]")}
        assert hosts >= OWN_LICENCE_LINKS, page


def test_names_in_code_cells_link_to_their_reference(parsed, site):
    soup = parsed[site / "back" / "pytorch.html"]
    targets = {link["href"].partition("#")[2] for link in soup.select(".highlight a[href]")}
    assert "course_pkg.plots.charts.loss_curves" in targets


def test_reference_pages_show_the_source(parsed, site):
    soup = parsed[site / "back" / "api" / "course_pkg.plots.charts.html"]
    assert soup.select_one('a[href*="_modules/course_pkg/plots/charts.html"]')


def test_every_page_with_code_offers_a_notebook_that_can_be_read(site):
    notebooks = sorted((site / "notebooks").glob("*.ipynb"))
    assert notebooks
    for path in notebooks:
        notebook = nbformat.read(path, as_version=4)
        nbformat.validate(notebook)
        code = [cell for cell in notebook.cells if cell.cell_type == "code"]
        assert '"pip", "install"' in code[0].source and "course_pkg" in code[0].source
        assert not any(cell.outputs for cell in code)
        for cell in notebook.cells:
            if cell.cell_type == "markdown":
                assert not re.search(r"^[`:]{3,}\{|\{[\w:.-]+\}`", cell.source, re.MULTILINE), path


def test_set_that_a_page_offers_is_beside_it_as_students_get_it(specimen):
    page = BeautifulSoup(specimen.read_text(encoding="utf-8"), "lxml")
    (link,) = page.select('main a[download="ps1.ipynb"]')
    assert link.parent.get_text().startswith("Problem set 1 (ps1.ipynb) asks you")
    notebook = nbformat.read(specimen.parent / link["href"], as_version=4)
    text = "\n".join(cell.source for cell in notebook.cells)
    assert "YOUR CODE HERE" in text and "nbgrader_cell" not in text


def test_built_pages_give_no_hint_mistake_check_or_exam_answer_away(site):
    """All that a student gets of the book: pages, their search, notebooks and pictures' texts.

    Lines of solutions and checks may stand there, since the book writes the package's functions
    out; what is searched for has to be found in a page that has it, or the search looks nowhere.
    """
    course = Course(ROOT / "assignments")
    made = make(course)  # which refuses what would be given away, and names it
    pages = [path for path in made.files if path.startswith("book/pages/")]
    assert {"book/pages/index.html", "book/pages/searchindex.js"} <= set(pages)
    assert {path.suffix for path in map(Path, pages)} >= {".html", ".js", ".ipynb"}
    assert {one.kind for one in made.public} <= {SOLUTION, CHECK}
    hint = max((m.hint for c in course.problem_set("ps1").checks for m in c.mistakes), key=len)
    page = made.files["book/pages/index.html"].replace(b"</p>", hint.encode() + b"</p>", 1)
    assert MISTAKE in {one.kind for one in made.secrets.find("index.html", page)}
