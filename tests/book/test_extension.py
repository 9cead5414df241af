"""The parts of the book's extension that need no build."""

import ast
import importlib
import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from nbformat import NotebookNode

from autograder.authoring.course import find_course
from autograder.authoring.late_policy import read_policy
from book import build
from course_pkg.results import Result
from tests.autograder.test_handed_out import FILES, make_course

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def extension():
    """Import the extension as Sphinx does."""
    sys.path.insert(0, str(ROOT / "book" / "_ext"))
    yield lambda name: importlib.import_module(f"coursebook.{name}")
    sys.path.remove(str(ROOT / "book" / "_ext"))


@pytest.fixture
def package(tmp_path):
    """A copy of what the cache's fingerprint covers."""
    (tmp_path / "course_pkg" / "text").mkdir(parents=True)
    (tmp_path / "course_pkg" / "__init__.py").write_text("")
    (tmp_path / "course_pkg" / "text" / "corpora.py").write_text("SEED = 1\n")
    (tmp_path / "requirements.txt").write_text("torch==2.13.0\n")
    return tmp_path


@pytest.mark.parametrize("changed", ["course_pkg/text/corpora.py", "requirements.txt"])
def test_fingerprint_changes_with_code_and_requirements(extension, package, changed):
    before = extension("cache").fingerprint(package)
    assert before == extension("cache").fingerprint(package)
    (package / changed).write_text("# another\n")
    assert extension("cache").fingerprint(package) != before


def test_fingerprint_covers_data_and_ignores_compiled_files(extension, package):
    before = extension("cache").fingerprint(package)
    (package / "course_pkg" / "__pycache__").mkdir()
    (package / "course_pkg" / "__pycache__" / "x.pyc").write_bytes(b"0")
    assert extension("cache").fingerprint(package) == before
    (package / "course_pkg" / "table.json").write_text("{}")
    assert extension("cache").fingerprint(package) != before


@pytest.mark.parametrize("budget", [0, -1, True, "a minute", None, float("nan"), float("inf")])
def test_budget_that_is_no_time_names_its_page(extension, budget):
    page = extension("execution").Page(
        "page", Path("page.md"), NotebookNode(metadata={"budget_seconds": budget})
    )
    with pytest.raises(ValueError, match=r"page.md: budget_seconds is .*; it must be a positive"):
        _ = page.budget_seconds


def test_two_caches_are_kept_and_files_beside_them_are_left(tmp_path, extension):
    caches = tmp_path / ".jupyter_cache"
    for age, name in enumerate(("last", "older", "oldest"), 1):
        (caches / name).mkdir(parents=True)
        os.utime(caches / name, (1e9 - age, 1e9 - age))
    (caches / ".DS_Store").touch()
    os.utime(caches / ".DS_Store", (1, 1))
    current = extension("cache").current_folder(tmp_path)
    assert {path.name for path in caches.iterdir()} == {current.name, "last", ".DS_Store"}


def test_chapter_leads_to_the_released_notebook_of_its_set(extension, tmp_path):
    sets = extension("problem_sets")
    html = sets.links("ps1", "../", settings_of(extension, tmp_path, WEB))
    assert '<a href="../problem_sets/ps1.ipynb" download="ps1.ipynb">ps1.ipynb</a>' in html
    assert "gh-pages/problem_sets/ps1.ipynb" in html and "problem_sets%2Fps1.ipynb" in html
    alone = sets.links("ps1", "", settings_of(extension, tmp_path, {}))
    assert alone == '<a href="problem_sets/ps1.ipynb" download="ps1.ipynb">ps1.ipynb</a>'
    with pytest.raises(ValueError, match="'one' is no problem set"):
        sets.title("one")


def test_book_gets_the_notebooks_of_all_sets_as_students_do(extension, tmp_path):
    app = SimpleNamespace(outdir=tmp_path, builder=SimpleNamespace(format="html"))
    sets = extension("problem_sets")
    course = find_course(ROOT / "assignments")
    sets.write_notebooks(app, None)
    written = {path.stem: json.loads(path.read_text()) for path in tmp_path.rglob("*.ipynb")}
    assert tuple(sorted(written)) == course.sets()
    text = json.dumps(written)
    assert "YOUR CODE HERE" in text and "BEGIN SOLUTION" not in text and "nbgrader_cell" not in text


def test_set_that_hands_out_files_is_offered_with_them(extension, tmp_path, monkeypatch):
    sets, course = extension("problem_sets"), make_course(tmp_path / "course")
    monkeypatch.setattr(sets, "course", lambda: course)
    offered = sets.links("hw1", "../", settings_of(extension, tmp_path, WEB))
    assert offered == '<a href="../problem_sets/hw1.zip" download="hw1.zip">hw1.zip</a>'
    sets.write_notebooks(
        SimpleNamespace(outdir=tmp_path, builder=SimpleNamespace(format="html")), None
    )
    (made,) = (tmp_path / "problem_sets").iterdir()
    with zipfile.ZipFile(made) as packed:
        assert set(packed.namelist()) == {"hw1/hw1.ipynb", *(f"hw1/{name}" for name in FILES)}


def test_every_set_is_offered_by_a_chapter_and_no_page_leads_to_the_folder_with_the_answers():
    chapters = [path.read_text("utf-8") for path in (ROOT / "book" / "chapters").glob("*.md")]
    offered = {name for text in chapters for name in re.findall(r"{problem-set}`(\w+)`", text)}
    assert offered == set(find_course(ROOT / "assignments").sets())
    for text in chapters:
        assert not re.search(r"\bassignments\b|\]\([./]*tests/", text)
        assert not re.search(r"\*\*Problem set \d", text)  # the role says it, with its links


def test_downloaded_page_needs_nothing_of_the_book(extension, tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "---\njupytext:\n  text_representation:\n    format_name: myst\n---\n\n"
        "```{code-cell}\nfrom myst_nb import glue\n\nglue('n', 3, display=False)\n```\n"
    )
    cells = extension("notebooks").clean_notebook(page).cells
    (cell,) = (cell for cell in cells if "glue(" in cell.source)
    assert "myst_nb" not in cell.source
    exec(cell.source, {})


def test_reference_pages_follow_the_modules(extension, package, tmp_path):
    api = extension("api")
    folder = tmp_path / "pages"
    folder.mkdir()
    (folder / "course_pkg.gone.md").write_text("# gone")
    names = api.module_names(package / "course_pkg")
    assert names == ["course_pkg", "course_pkg.text.corpora"]
    api.write_pages(names, folder)
    assert sorted(page.stem for page in folder.iterdir()) == names


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("a|b and x_ and *args", r"a\|b and x\_ and \*args"),
        ("`NGram` counts `c(w) * 2`", "`NGram` counts ``c(w) * 2``"),
        ("d_model stays", "d_model stays"),
    ],
)
def test_docstring_lines_read_as_plain_text(extension, written, read):
    assert extension("docstrings").plain(written) == read


def test_docstring_drawings_are_verbatim_and_sections_are_not(extension):
    lines = ["Flow:", "", "    text -> ids", "    ids -> loss", "", "Args:", "    x: a*b", ""]
    result = extension("docstrings").read_plainly(lines)
    assert result[result.index("::") + 2] == "    text -> ids"
    assert r"    x: a\*b" in result


@pytest.mark.parametrize("address", ["", "a name @ git+https://host/x.git"])
def test_notebook_of_a_page_installs_the_package_from_the_address(extension, tmp_path, address):
    page = tmp_path / "page.md"
    page.write_text("# A page\n\n```{code-cell}\n2 + 2\n```\n")
    install = extension("notebooks").clean_notebook(page, address).cells[1].source
    (assigned,) = (node for node in ast.parse(install).body if isinstance(node, ast.Assign))
    assert ast.literal_eval(assigned.value) == address


QUIZ = {
    "question": "Which?",
    "options": [{"text": "a", "why": "w", "correct": True}, {"text": "b", "why": "w"}],
}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"question": None}, "needs the keys"),
        ({"options": []}, "at least two options"),
        ({"options": [*QUIZ["options"], {"text": "c"}]}, "'c'.*explain every option"),
        ({"options": [QUIZ["options"][1]] * 2}, "0 options are marked"),
        ({"options": [QUIZ["options"][0]] * 2}, "2 options are marked"),
    ],
)
def test_quiz_rejects_what_would_leave_a_reader_alone(extension, change, message):
    quiz = extension("quiz")
    assert quiz.check(QUIZ) == QUIZ["options"]
    with pytest.raises(ValueError, match=message):
        quiz.check(QUIZ | change)


@pytest.mark.parametrize(
    ("myst", "markdown"),
    [
        ("(label)=\n# Title", "# Title"),
        ("A {term}`token`, {ref}`the rest <rest>`, {eq}`e`.", "A token, the rest, (e)."),
        (
            "[](notation.md) and [here](x.md), [web](https://a.b)",
            "notation.md and here, [web](https://a.b)",
        ),
        ("```{math}\n:label: e\nx^2\n```", "$$\nx^2\n$$"),
        (":::{margin} Aside\nA {term}`word`.\n:::", "> **Aside**\n>\n> A word."),
        ("```{glue:figure} ppl\n:name: fig\nPerplexity falls.\n```", "*Perplexity falls.*"),
        ("````{note}\n```{math}\nx\n```\n````", "> **Note.**\n>\n> $$\n> x\n> $$"),
        ("```python\n# (label)=\n{term}`x`\n```", "```python\n# (label)=\n{term}`x`\n```"),
        ("{problem-set}`ps1` asks", "**Problem set 1** (the notebook `ps1.ipynb`) asks"),
        (
            "````{solution} ex\n:class: dropdown\n\nOne bit.\n````",
            "<details><summary>Solution</summary>\n\nOne bit.\n\n</details>",
        ),
    ],
)
def test_notebook_text_is_plain_markdown(extension, myst, markdown):
    assert extension("plain_markdown").reduce_to_markdown(myst) == markdown


def test_links_of_a_notebook_lead_to_the_pages_where_the_book_can_be_read(extension, tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "# A page\n\n```{note}\nSee [the models](../back/models.md#bert).\n```\n\n"
        "[](next.md), [a place](#here), [web](https://a.b)\n\n```{code-cell}\n2\n```\n"
    )
    clean = extension("notebooks").clean_notebook
    address = "https://host/book/chapters/page.html"
    text = clean(page, page=address).cells[2].source
    assert "[the models](https://host/book/back/models.html#bert)" in text
    assert "[next.md](https://host/book/chapters/next.html), a place, [web]" in text
    assert "](" not in clean(page).cells[2].source.replace("[web](https://a.b)", "")


def test_notebook_text_keeps_a_quiz_with_its_answers(extension):
    myst = (
        "```{quiz}\nquestion: Which?\noptions:\n"
        "  - {text: a, why: because}\n  - {text: b, why: so, correct: true}\n```"
    )
    text = extension("plain_markdown").reduce_to_markdown(myst)
    assert "1. a\n2. b" in text and "2. **Right.** so" in text


def test_vendored_files_are_unchanged():
    command = [sys.executable, str(ROOT / "third_party" / "refresh.py")]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout


CONTENTS = """\
root: index
parts:
  - caption: One
    chapters:
      - file: chapters/second
      - file: chapters/first
  - caption: Back
    chapters:
      - file: back/glossary
"""
STATED = """\
---
chapter:
  adds: {adds}
  missing: nothing
  minutes: 7
terms:
  {term}: >-
    Defined
    here.
---
# A chapter
"""


@pytest.fixture
def two_chapters(tmp_path):
    """A book of two chapters, listed in another order than the alphabet's."""
    (tmp_path / "chapters").mkdir()
    (tmp_path / "_toc.yml").write_text(CONTENTS)
    for name, term in (("first", "zeal"), ("second", "Apt")):
        text = STATED.format(adds=f"the {name} idea", term=term)
        (tmp_path / "chapters" / f"{name}.md").write_text(text)
    return tmp_path


def test_table_and_glossary_follow_from_the_chapters(extension, two_chapters, monkeypatch):
    module = extension("chapters")
    of_stories = [Result("x", "m", "stories", 2.5, None, n) for n in (3, None)]
    kept = {"second": [*of_stories, Result("x", "m over m", "stories", 1.0, None, 3)], "first": []}
    monkeypatch.setattr(module, "chapter_results", kept.__getitem__)
    chapters = module.read_chapters(two_chapters)
    assert module.table_of(chapters)[2:] == [
        "| [](/chapters/second.md) | the second idea | 7 | 2.50 | nothing |",
        "| [](/chapters/first.md) | the first idea | 7 |  | nothing |",
    ]
    assert module.glossary_of(chapters)[1:4] == [
        "Apt",
        "  Defined here. ([](/chapters/second.md))",
        "",
    ]


def test_chapters_are_refused_without_a_field_or_with_a_term_twice(extension, two_chapters):
    module = extension("chapters")
    path = two_chapters / "chapters" / "first.md"
    path.write_text(path.read_text().replace("zeal", "Apt"))
    with pytest.raises(ValueError, match=r"second\.md and .*first\.md both define 'Apt'"):
        module.glossary_of(module.read_chapters(two_chapters))
    path.write_text(path.read_text().replace("minutes: 7", "hours: 7"))
    with pytest.raises(ValueError, match=r"first\.md has no 'minutes'"):
        module.read_chapters(two_chapters)


def test_glossary_has_the_terms_of_other_pages_too(extension, two_chapters):
    (two_chapters / "back").mkdir()
    for name, header in (("glossary", ""), ("more", "---\nterms:\n  Later: A word.\n---\n")):
        (two_chapters / "back" / f"{name}.md").write_text(f"{header}# A page\n")
    contents = two_chapters / "_toc.yml"
    contents.write_text(contents.read_text() + "      - file: back/more\n")
    module = extension("chapters")
    lines = module.glossary_of(module.read_pages_with_terms(two_chapters))
    assert lines[4:6] == ["Later", "  A word. ([](/back/more.md))"]
    assert len(module.read_chapters(two_chapters)) == 2


def test_welcome_page_shows_what_the_chapters_have_reached(extension):
    reached = {Path(c.path).stem: c.reached() for c in extension("chapters").read_chapters()}
    assert reached["language_models"] == pytest.approx(65.75, abs=0.005)
    assert reached["ngrams"] == pytest.approx(1.98, abs=0.005)
    assert reached["tokenization"] is None  # measured on something else


def test_notebook_begins_with_a_cell_that_installs_the_package(extension):
    page = ROOT / "tests" / "book" / "specimen" / "specimen.md"
    install = extension("notebooks").clean_notebook(page, "an address").cells[1].source
    compile(install, "cell", "exec")
    assert '"{files[-1]}[course]"' in install and 'ADDRESS = "an address"' in install


def test_weights_are_written_for_the_elements_that_ask_and_only_when_they_change(
    extension, monkeypatch, tmp_path
):
    assets, loaded = extension("assets"), []
    app = SimpleNamespace(
        outdir=tmp_path, add_js_file=lambda name, loading_method: loaded.append(name)
    )
    body = '<lm-attention role="group" aria-label="a &gt; b" data-models="gpt-small"><script>'
    assets.load_elements(app, "page", "page.html", {"body": body}, None)
    assert loaded == ["lm-engine.js", "lm-attention.js"], "the engine comes first"
    script = tmp_path / "_static" / "models" / "gpt-small.js"
    written = script.stat().st_mtime_ns
    assert [path.name for path in script.parent.iterdir()] == ["gpt-small.js"]
    assets.load_elements(app, "page", "page.html", {"body": body}, None)
    assert script.stat().st_mtime_ns == written
    monkeypatch.setattr(assets, "EXPORTER", tmp_path / "newer.py")
    assets.EXPORTER.touch()
    assets.load_elements(app, "page", "page.html", {"body": body}, None)
    assert script.stat().st_mtime_ns > written


def test_figure_of_a_published_model_gets_its_scripts_once_and_the_file_where_it_is_installed(
    extension, monkeypatch, tmp_path
):
    assets, loaded, asked = extension("assets"), [], []
    app = SimpleNamespace(
        outdir=tmp_path, add_js_file=lambda name, loading_method: loaded.append(name)
    )
    monkeypatch.setattr(assets, "write_weights", lambda name, folder: asked.append(name))
    monkeypatch.setattr(assets, "place_published", lambda name, out: asked.append(out / name))
    both = "gpt-small smollm2-135m"
    body = f'<lm-gpt data-models="gpt-small"></lm-gpt><lm-published data-models="{both}">'
    assets.load_elements(app, "page", "page.html", {"body": body}, None)
    assert loaded == [
        "lm-engine.js", "lm-gpt.js", "lm-kernel.js", "lm-gguf.js", "lm-published.js"
    ]  # fmt: skip
    folder = tmp_path / "_static" / "models"
    assert asked == ["gpt-small", folder / "smollm2-135m"]
    monkeypatch.undo()
    assets.place_published("no-such-model", folder)  # not there: the book is built all the same
    assert not folder.exists()


def test_zip_for_offline_reading_leaves_out_what_others_trained(tmp_path):
    models = tmp_path / "html" / "_static" / "models"
    models.mkdir(parents=True)
    for path in (tmp_path / "html" / "index.html", models / "ours.js", models / "theirs.gguf"):
        path.write_text("x")
    with zipfile.ZipFile(build.pack(tmp_path)) as archive:
        files = {name for name in archive.namelist() if not name.endswith("/")}
    assert files == {"html/index.html", "html/_static/models/ours.js"}


WEB = {
    "address": "https://host/book",
    "repository": "https://github.com/us/course",
    "notebooks_branch": "gh-pages",
    "jupyterhub": "https://hub.host/",
}


def settings_of(extension, folder, table):
    """What the extension reads from a `course.toml` with this table of the book."""
    file = folder / "course.toml"
    file.write_text("\n".join(["[book]", *(f"{k} = {json.dumps(v)}" for k, v in table.items())]))
    return extension("settings").read_settings(file)


def test_book_links_to_where_the_course_says(extension, tmp_path):
    web = settings_of(extension, tmp_path, WEB)
    assert web.notebook_links("ngrams") == {
        "Open in Colab": "https://colab.research.google.com/github/us/course/blob/gh-pages/"
        "notebooks/ngrams.ipynb",
        "Open in JupyterHub": "https://hub.host/hub/user-redirect/git-pull?"
        "repo=https%3A%2F%2Fgithub.com%2Fus%2Fcourse&branch=gh-pages"
        "&urlpath=lab%2Ftree%2Fcourse%2Fnotebooks%2Fngrams.ipynb",
    }
    stated = yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))["sphinx"]["config"]
    lost = {"notfound_context": stated["notfound_context"]}
    config = SettableConfig(coursebook_web=vars(web), html_theme_options={}, **lost)
    extension("settings").apply_settings(None, config)
    assert 'href="/book/index.html"' in config["notfound_context"]["body"]
    assert config["html_baseurl"] == "https://host/book/"
    assert config["notfound_urls_prefix"] == "/book/"
    assert config["html_theme_options"]["repository_url"] == "https://github.com/us/course"
    page = ["git clone <the repository>"]
    extension("settings").name_repository(SimpleNamespace(config=config), "index", page)
    assert page == ["git clone https://github.com/us/course"]


def test_book_links_nowhere_when_the_course_says_nothing(extension, tmp_path):
    read = extension("settings").read_settings
    for web in (settings_of(extension, tmp_path, {}), read(tmp_path / "no such file")):
        assert not web.notebook_links("ngrams")
        config = SettableConfig(coursebook_web=vars(web), html_theme_options={})
        extension("settings").apply_settings(None, config)
        assert config == {"coursebook_web": vars(web), "html_theme_options": {}}
    elsewhere = settings_of(
        extension, tmp_path, WEB | {"repository": "https://git.host/a", "jupyterhub": ""}
    )
    assert not elsewhere.notebook_links("ngrams")  # Colab opens what is on GitHub


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"address": "host/book"}, r"book\.address is 'host/book/'; it must begin with https://"),
        ({"adress": "https://host/"}, r"book\.adress is not known; known: address, repository"),
        ({"repository": 7}, r"book\.repository is 7; it must be a text"),
        ({"jupyterhub": "https://hub.host"}, r"book\.repository is empty"),
        (
            {"repository": "https://git.host/a", "jupyterhub": "https://hub.host"},
            r"book\.notebooks_branch is empty",
        ),
    ],
)
def test_book_rejects_addresses_that_would_be_broken(extension, tmp_path, table, message):
    with pytest.raises(ValueError, match=message):
        settings_of(extension, tmp_path, table)


class SettableConfig(dict):
    """Sphinx's configuration as far as the settings use it."""

    __getattr__ = dict.__getitem__


def test_grader_reads_the_settings_of_the_book_beside_its_own():
    read_policy(find_course(ROOT / "assignments"), "ps1")


def test_finished_page_is_repaired_once_and_only_where_it_must(extension):
    """Attributes stand in the order of the theme or, where links were put in, of the alphabet."""
    fix = extension("page_fixes").fix_page
    label = 'aria-label="Toggle hidden content"'
    pairs = {
        '<script src="a/fontawesome.js?x"></script><script src="own.js"></script>': (
            '<script src="own.js"></script>'
        ),
        f'<summary {label} class="a"><b>Show code</b></summary>': (
            '<summary class="a"><b>Show code</b></summary>'
        ),
        '<button aria-label="Search"><i></i>search</button>': (
            '<button aria-label="Search"><i></i>search</button>'
        ),
        '<summary><span role="presentation" class="toctree-toggle"></span></summary>': (
            '<summary aria-label="Pages of this part">'
            '<span role="presentation" class="toctree-toggle"></span></summary>'
        ),
        '<div id="a" class="bd-sidebar-primary b">': (
            '<div role="navigation" aria-label="Book" id="a" class="bd-sidebar-primary b">'
        ),
        '<div class="bd-sidebar-primary b" id="a">': (
            '<div role="navigation" aria-label="Book" class="bd-sidebar-primary b" id="a">'
        ),
        '<h1></h1><div id="proof-content">A proof.</div>': "<div>A proof.</div>",
        '<dt class="sig py" id="f">f(<dl>\n<dd>a,</dd>\n</dl>\n)</dt><dd>Text.</dd>': (
            '<dt class="sig py" id="f">f(<span class="sig-lines">\n<span class="sig-line">a,</span>'
            "\n</span>\n)</dt><dd>Text.</dd>"
        ),
        '<div class="viewcode-block" id="f">\n<a class="viewcode-back" href="p.a.html#p.f">': (
            '<div class="viewcode-block" id="f">\n<a class="viewcode-back" href="p.a.html#p.a.f">'
        ),
        '<ul><li><a href="builtins.html">builtins</a></li></ul>': "<ul></ul>",
    }
    sidebar = '<div class="bd-sidebar-secondary" hidden=""></div>'
    for written, wanted in pairs.items():
        fixed = fix(f"<body>{written}</body>")
        assert fixed == f"<body>{wanted}{sidebar}</body>"
        assert fix(fixed) == fixed


@pytest.mark.parametrize(
    "code, output, line",
    [
        ("import math\n\nn = 3", "", "imports and data"),
        ("import math\n\n\ndef twice(n):\n    return 2 * n", "", "helper code: twice"),
        ("one = Diagram(2)\nplots.show(one.figure, alt='')", "svg", "how this drawing is made"),
        ("plots.show(plots.lines(x), alt='')", "svg", "how this figure is drawn"),
        ("widgets.table(head, rows)", "<table>", "how this table is made"),
        ("told = story_so_far(['a'])\ntold", "<table>", "how this table is made"),
        ("told", "<table>", "how this table is made"),
        ("chooser = widgets.answer_chooser('a')\nchooser", "<lm-a>", "how this figure is filled"),
        ("%matplotlib inline\nfor n in (1, 2):\n    print(n)", "1", "the code behind this output"),
    ],
)  # fmt: skip
def test_line_above_a_folded_cell_says_what_it_hides(extension, code, output, line):
    assert extension("folded").hidden(code, output) == line
