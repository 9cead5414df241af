"""What students chose, in each place where it is shown: text, whatever it would like to be."""

import csv
import html
import html.parser
import io
import re
from urllib.parse import urlsplit

import nbformat
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from nbconvert import HTMLExporter
from nbconvert.filters.markdown_mistune import markdown2html_mistune

from autograder.untrusted import as_cell, as_html, as_line, as_markdown, as_seen
from tests.autograder.test_attacks_on_pages import PAYLOADS

# ------------------------------------------------------------------ Markdown
LINKS = {
    "script": "[x](javascript:alert(1))",
    "capitals": "[x](JaVaScRiPt:alert(1))",
    "data": "[x](data:text/html,<script>alert(1)</script>)",
    "other program": "[x](vbscript:x) [x](file:///etc/passwd) [x](ms-msdt:/id)",
    "in angle brackets": "[x](<javascript:alert(1)>)",
    "title": '[x](javascript:alert(1) "title")',
    "entities": "[x](java&#115;cript:alert(1)) [x](javascript&colon;alert(1))",
    "entities of entities": "[x](java&amp;#115;cript:alert(1))",
    "tab": "[x](java\tscript:alert(1)) [x](java&Tab;script:alert(1))",
    "control": "[x](\x01javascript:alert(1)) [x](&#1;javascript:alert(1))",
    "newline": "[x](\njavascript:alert(1))",
    "escape": "[x](javascript\\:alert(1)) [x](\\javascript:alert(1))",
    "invisible": "[x](java\u200bscript:alert(1)) [x](\u200bjavascript:alert(1))",
    "reference": "[x]\n\n[x]: javascript:alert(1)",
    "reference by name": "[see][Y]\n\n[y]:\n  javascript:alert(1)\n",
    "reference in a quotation": "> [x]: data:text/html,x\n\n[x]",
    "reference in angle brackets": "[x][]\n\n[x]: <javascript:alert(1)> 'title'",
    "brackets in a label": "[a [b] \\] c](javascript:alert(1))",
    "automatic": "<javascript:alert(1)> <data:text/html,x>",
    "image": "![x](javascript:alert(1)) ![x](data:image/svg+xml,<svg/>)",
    "image from elsewhere": "![x](https://elsewhere.example/seen.png)",
    "image by reference": "![x][y]\n\n[y]: https://elsewhere.example/seen.png",
    "image in a link": "[![x](https://elsewhere.example/seen.png)](javascript:alert(1))",
    "mathematics": "$\\href{javascript:alert(1)}{x}$ $$\\mmlToken{mi}[href='javascript:x']{x}$$",
    "mathematics in disguise": "&#36;&#92;href{javascript:alert(1)}{x}&#36; &dollar;&bsol;href{}{}",
    "letters of mathematics in disguise": "\\beg&#105;n{align}\\h&#114;ef{javascript:alert(1)}{x}"
    "\\end{align} \\hr&#x65f{x}{y} \\s&#116yle{color:red}{x}",
    "letters of mathematics behind zeros": f"\\beg&#{'0' * 9}105;n{{align}}\\h&#{'0' * 5_000}114;ef"
    f"{{javascript:alert(1)}}{{x}}\\end{{align}} &#{'9' * 5_000};",  # more digits than Python reads
    "mathematics escaped": "\\$\\\\href{javascript:alert(1)}{x}\\$",
    "border by mathematics": "$\\definecolor{c}{named}{red;position:fixed}\\fcolorbox{c}{c}{x}$",
    "style by mathematics": "$\\bbox[position:fixed]{x}$ $\\style{color:red}{x}$ $\\require{html}$",
}
_ACTS = "href", "url", "require", "style", "class", "cssId", "data", "mmlToken", "bbox", "fcolorbox"


class Links(html.parser.HTMLParser):
    """What a browser would load, go to or run, and the text in which MathJax looks for formulas."""

    def __init__(self, page):
        super().__init__()
        self.loads, self.goes, self.tags, self.text = [], [], [], ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        for name, value in attributes:
            if name == "href":
                self.goes.append(value)
            if name in ("src", "srcset", "style", "background") or name.startswith("on"):
                self.loads.append((name, value))

    def handle_data(self, data):
        self.text += data


def rendered(source):
    """Return a Markdown cell as formgrader shows it."""
    return Links(markdown2html_mistune(source))


def assert_harmless(page):
    for target in page.goes:
        bare = re.sub(r"[\x00-\x20\u200b]", "", html.unescape(target))
        assert urlsplit(bare).scheme.lower() in ("", "http", "https", "mailto"), target
    assert page.loads == []
    assert not {"script", "img", "iframe", "svg", "style", "link", "form", "base"} & {*page.tags}
    for name in _ACTS:
        assert not re.search(rf"\\{name}(?![A-Za-z])", page.text), name


@pytest.mark.parametrize("source", LINKS.values(), ids=LINKS.keys())
def test_link_of_a_student_leads_to_the_web_or_nowhere(source):
    assert_harmless(rendered(as_markdown(source)))


def test_reader_of_links_sees_what_is_harmful():
    unseen = []
    for name, source in LINKS.items():
        try:
            assert_harmless(rendered(source))
        except AssertionError:
            continue
        unseen.append(name)  # mistune makes no link of them; another renderer may
    known = {"tab", "invisible", "control", "newline", "escape"}
    assert set(unseen) <= {*known, "letters of mathematics behind zeros"}


def test_notebook_of_students_cells_runs_nothing():
    cells = [nbformat.v4.new_markdown_cell(as_markdown(source)) for source in LINKS.values()]
    cells += [nbformat.v4.new_raw_cell(as_markdown(source)) for source in PAYLOADS.values()]
    exporter = HTMLExporter(template_name="basic")
    assert_harmless(Links(exporter.from_notebook_node(nbformat.v4.new_notebook(cells=cells))[0]))


def test_nothing_controls_how_a_text_is_shown():
    hostile = "a\x00b\x1b[31mc\u202ed\u2066e\x7f\x9bf\r\ng\th"
    seen = "a\ufffdb\ufffd[31mc\ufffdd\ufffde\ufffd\ufffdf\ng\th"
    assert as_html(hostile) == as_markdown(hostile) == as_seen(hostile) == seen
    honest = "&eacute; &#8364; &lt;p&gt; &amp; R&D, AT&T"
    assert as_markdown(honest) == honest


def test_no_letter_bears_accents_that_cover_other_lines():
    """Fifty of them stood over the names of three other students."""
    accent = "\u0301"
    hostile, seen = f"e{accent * 50}x", f"e{accent * 5}\ufffdx"
    assert as_html(hostile) == as_markdown(hostile) == as_seen(hostile) == as_cell(hostile) == seen
    assert as_seen(seen) == seen
    vietnamese, hebrew = "Nguye\u0302\u0303n", "\u05e9\u05c1\u05bc\u05b8\u0591\u05dc"
    tibetan, thai, emoji = "\u0f67\u0f71\u0f74\u0f83", "\u0e17\u0e35\u0e48", "1\ufe0f\u20e3"
    for honest in (vietnamese, hebrew, tibetan, thai, emoji):
        assert as_seen(honest) == honest


@pytest.mark.parametrize("source", PAYLOADS.values(), ids=PAYLOADS.keys())
def test_markup_of_a_student_stays_text(source):
    assert_harmless(rendered(as_markdown(source)))


PIECES = [
    *("[", "]", "(", ")", "]:", "](", "![", "<", ">", "\\", "&#", "&colon;", "&#x3a;", "\n", "\t"),
    *(" ", "javascript", "data", "JAVASCRIPT", ":", "x", "y", "`", "$", "*", "href", "{", "}", "#"),
    *("\u200b", "\x01", '"', "'", "- ", "> ", "|", "~~", "\n\n", "http://a.example", "script", "^"),
]


@given(st.lists(st.sampled_from(PIECES), max_size=14).map("".join))
@example("[x][y]\n\n[y]:javascript:x")
def test_no_mixture_of_markdown_makes_a_link_that_runs(source):
    assert_harmless(rendered(as_markdown(source)))


@pytest.mark.parametrize(
    ("source", "seen"),
    [
        ("a < b, x<eos>, **bold**, `d[k]: v`", "a < b, x<eos>, bold, d[k]: v"),
        ("$\\frac{1}{2}$ & $a_{ij}$", "$\\frac{1}{2}$ & $a_{ij}$"),
        ("[paper](https://arxiv.org/abs/1706.03762) [mail](mailto:a@b.example)", "paper mail"),
        ("[fn][1]\n\n[1]: https://a.example/x?y=a:b", "fn"),
        ("AT&T, x &lt; y", "AT&T, x < y"),
        ("see [1]: it says so", "see [1]: it says so"),
        ("`P(w|h)[0](x) = c[i](j:k)`", "P(w|h)[0](x) = c[i](j:k)"),
    ],
)
def test_honest_answer_reads_as_it_was_written(source, seen):
    page = rendered(as_markdown(source))
    assert " ".join(page.text.replace("\u200b", "").split()) == seen
    assert len(page.goes) == source.count("https:") + source.count("mailto:")


def test_markdown_that_was_made_harmless_stays_as_it_is():
    for source in (*LINKS.values(), *PAYLOADS.values()):
        assert as_markdown(as_markdown(source)) == as_markdown(source)


# ------------------------------------------------------------------ HTML and terminals
@given(st.text())
def test_html_shows_any_text_and_holds_no_markup(text):
    page = Links(as_html(text))
    assert page.tags == [] and not set(as_html(text)) & set("<>\"'")
    assert page.text == as_seen(text)


@given(st.text())
def test_terminal_gets_one_line_that_it_cannot_obey(text):
    line = as_line(text)
    assert line.isprintable() and len(line) == len(text)


# ------------------------------------------------------------------ spreadsheets
_MARKS = ("=", "+", "-", "@")


def assert_no_formula(text):
    """Read CSV as spreadsheets do: by commas, or where the decimals have commas, by semicolons."""
    for separator in ",;\t":
        for row in csv.reader(io.StringIO(text, newline=""), delimiter=separator):
            for cell in row:
                if not re.fullmatch(r'[\s"]*[+-]?\d*[.,]?\d*%?[\s"]*', cell):
                    assert not cell.lstrip(' \t\r\n"').startswith(_MARKS), (separator, cell)


FORMULAS = [
    "=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", " =1", "\r=1", "a\r=1", "a\n=1",
    "ada;=1+1", "ada; =1+1", 'ada;"=1+1"', 'a";=1', "a\t=1", "a,=1", "1;2;=3", ";;;=1", "x;@y;+z",
    '"=1', "=", "a;-x",
]  # fmt: skip


@pytest.mark.parametrize("value", FORMULAS)
def test_cell_is_no_formula_wherever_a_spreadsheet_splits(value):
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerow([as_cell(value), "x", as_cell(value)])
    assert_no_formula(out.getvalue())


@pytest.mark.parametrize("sign", "\u202a\u202b\u202d\u202e\u2066\u2067\u2068")
def test_cell_shows_no_other_cell_of_its_line_in_another_order(sign):
    assert as_cell(f"ada{sign}") == "ada\ufffd"


@given(st.text("=+-@;,\t\r\n\"' a1.%"))
def test_no_text_is_a_formula_wherever_a_spreadsheet_splits(value):
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerow(["a", as_cell(value), "-1.5"])
    assert_no_formula(out.getvalue())
    assert as_cell(as_cell(value)) == as_cell(value)


@pytest.mark.parametrize(
    "value",
    [
        "ada", "-", "-1.5", "+3", "12,5", "a - b", "Wednesday, 10 June 2026, 2:14 PM", 3.5, None,
        "a; b", "Ada O'Neil-Smith", "ada@uni.example", "a=b", "points: -2 (late)", 
    ],
)  # fmt: skip
def test_harmless_cell_stays_as_it_is(value):
    assert as_cell(value) == value
