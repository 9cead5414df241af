"""The rules of a chapter that a machine can hold: numbers, cells, words, drawings, prompt.

What a chapter does not meet yet stands in a list here by name; a list may only shrink, since a
chapter that meets its rule and is still listed fails as well.
"""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
FOLDER = TESTS.parents[1] / "book" / "chapters"
PAGES = {path.stem: path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("*.md"))}
PROMPT = "One day,"
MOST_LINES, MOST_WORDS, LEAST_DRAWINGS = 20, 3800, 3
WORDS_A_MINUTE, SECONDS_A_FIGURE, SECONDS_A_LINE = 200, 20, 10
MOST_MINUTES_OFF = 5
MOST_CHARACTERS = 84  # a longer line of code runs out of the text's width on a wide screen

FENCE = re.compile(r"^(`{3,}|:{3,})(.*)$")
# A number that is part of a name, as in GPT-3.5, is none.
DECIMAL = re.compile(r"(?<![\w.,])(?<![A-Za-z]-)\d[\d,]*\.\d+(?!\.?\d|\w)")
FOLDED = ("{exercise}", "{solution", "{quiz}", "{dropdown}")
CODE = ("{code-cell}", "{code-block}", "python", "{prf:")


def blocks(page: str) -> Iterator[tuple[list[str], str]]:
    """Yield each line of a page after its front matter, with the directives that it stands in."""
    inside: list[tuple[str, str]] = []  # (fence, directive)
    is_in_solution = False
    for line in page.split("\n---\n", maxsplit=1)[1].split("\n"):
        fence = FENCE.match(line)
        if fence is None:
            yield [name for _, name in inside] + ["{solution}"] * is_in_solution, line
        elif inside and not fence[2].strip() and fence[1].startswith(inside[-1][0]):
            if inside.pop()[1].startswith("{solution-start}"):
                is_in_solution = True
        else:
            inside.append((fence[1], fence[2].strip()))
            if inside[-1][1].startswith("{solution-end}"):
                is_in_solution = False


def is_in(directives: list[str], names: tuple[str, ...]) -> bool:
    return any(name.startswith(names) or not name for name in directives)


def cells(page: str) -> Iterator[tuple[bool, str]]:
    """Yield each code cell: whether it is open (shown, in no solution), and its code."""
    for match in re.finditer(r"^```\{code-cell\}\n(.*?)^```$", page, re.DOTALL | re.MULTILINE):
        before = page[: match.start()]
        in_solution = before.count("{solution-start}") > before.count("{solution-end}")
        options, code = re.match(r"((?::[^\n]*\n)*)(.*)", match[1], re.DOTALL).groups()
        yield not in_solution and ":tags:" not in options, code.strip()


def main_text(page: str) -> str:
    """The text up to the quizzes and exercises, without code and folded derivations."""
    page = page[: page.index("\n## Check yourself")]
    lines = [line for inside, line in blocks(page) if not is_in(inside, FOLDED + CODE)]
    text = "\n".join(line for line in lines if not line.startswith(":"))
    text = re.sub(r"\$\$.*?\$\$", "", text, flags=re.DOTALL)
    return re.sub(r"\$[^$]+\$|\{[\w:.-]+\}`[^`]*`", "x", text)


def n_words(page: str) -> int:
    """Words of the main text."""
    return len(re.findall(r"[\w’'–-]+", main_text(page)))


def minutes_to_read(page: str) -> float:
    """Time for the main text, its figures and its open code, the quizzes and exercises left out."""
    main = page[: page.index("\n## Check yourself")]
    n_lines = sum(
        bool(line) for is_open, code in cells(main) if is_open for line in code.split("\n")
    )
    n_figures = len(re.findall(r"\bshow\(", main))
    seconds = SECONDS_A_FIGURE * n_figures + SECONDS_A_LINE * n_lines
    return n_words(page) / WORDS_A_MINUTE + seconds / 60


def unseen(page: str) -> list[str]:
    """Figures and tables that no reader sees: a notebook shows the last value of a cell only."""
    trees = [ast.parse(re.sub(r"^%.*$", "", code, flags=re.MULTILINE)) for _, code in cells(page)]
    makers = {"show", "table"}
    for node in (node for tree in trees for node in ast.walk(tree)):
        returned = [n.value for n in ast.walk(node) if isinstance(n, ast.Return)]
        if isinstance(node, ast.FunctionDef) and any(called(value) in makers for value in returned):
            makers.add(node.name)
    return [
        ast.unparse(node)
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and node is not tree.body[-1] and called(node.value) in makers
    ]


def called(value: ast.AST | None) -> str | None:
    """Return the last name of what an expression calls, if it is a call."""
    function = getattr(value, "func", None)
    return getattr(function, "attr", getattr(function, "id", None))


def opens_with_a_picture(page: str) -> bool:
    """Whether the first cell stands on the first screen and ends with something to see."""
    first = page.index("```{code-cell}")
    _, code = next(cells(page))
    shows = isinstance(ast.parse(code).body[-1], ast.Expr)
    return shows and first < page.index("**You will learn**")


def stated(page: str) -> list[str]:
    """Decimals in prose, exercises, quizzes and alternative texts, as they are written there.

    Numbers in formulas, in code and beside a citation are not the page's own findings.
    """
    text = "\n".join(line for inside, line in blocks(page) if not is_in(inside, CODE))
    text = re.sub(r"\$\$.*?\$\$|\$[^$]+\$|`[^`]*`", "x", text, flags=re.DOTALL)
    sentences = re.split(r"(?<=[.!?:;])\s+|\n", text)
    found = [n for s in sentences if "{cite" not in s for n in DECIMAL.findall(s)]
    for _, code in cells(page):
        for node in ast.walk(ast.parse(re.sub(r"^%.*$", "", code, flags=re.MULTILINE))):
            if isinstance(node, ast.keyword) and node.arg == "alt":
                parts = [n.value for n in ast.walk(node.value) if isinstance(n, ast.Constant)]
                found += DECIMAL.findall(" ".join(part for part in parts if isinstance(part, str)))
    return found


def held(slug: str, page: str) -> list[float]:
    """Numbers that an assert of the page, a cell that readers do not see, or a test of it names."""
    trees = [ast.parse(code) for _, code in cells(page) if "assert" in code]
    test = TESTS / f"test_{slug}.py"
    if test.exists():
        trees.append(ast.parse(test.read_text(encoding="utf-8")))
    values = [
        node.value for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Constant)
    ]
    numbers = [value for value in values if type(value) in (int, float)]
    # As where f"{found:.2f}" is compared with the digits that the text prints.
    words = [value.split() for value in values if isinstance(value, str)]
    printed = [n for each in words if all(map(DECIMAL.fullmatch, each)) for n in each]
    return [abs(float(value)) for value in (*numbers, *printed)]


def uncovered(slug: str, page: str) -> list[str]:
    """Decimals that nothing holds: no known number rounds to them at the precision stated."""
    numbers = held(slug, page)
    loose = []
    for text in stated(page):
        value, digits = float(text.replace(",", "")), len(text.split(".")[1])
        if not any(round(number, digits) == value for number in numbers):
            loose.append(text)
    return sorted(set(loose))


def signs(page: str) -> list[str]:
    """What the page would print as another sign: (c) becomes ©, (r) ®, (p) § and (tm) ™."""
    text = "\n".join(line for inside, line in blocks(page) if not is_in(inside, CODE))
    text = re.sub(r"\$\$.*?\$\$|\$[^$]+\$|`[^`]*`", "x", text, flags=re.DOTALL)
    return re.findall(r"(?<!\\)\((?:c|r|p|tm)\)", text, re.IGNORECASE)


# What stands in a page without an assert: published elsewhere, given in a question or in a wrong
# answer to one, a setting that a figure has or a search has tried.
GIVEN = {
    "language_models": {"1.0002", "1.3"},
    "tokenization": {"1.5"},
    "self_attention": {"0.003", "0.005", "0.03"},
    "positions": {"0.8"},
    "training_transformers": {"0.95"},
}

chapter = pytest.mark.parametrize("slug", PAGES)


@chapter
def test_decimals_in_prose_are_held_by_an_assert(slug):
    found = set(uncovered(slug, PAGES[slug]))
    assert found == GIVEN.get(slug, set()), "an assert or an inline value must hold each number"


@chapter
def test_open_cells_have_at_most_twenty_lines(slug):
    shown = [code.split("\n") for is_open, code in cells(PAGES[slug]) if is_open]
    long = [lines[0] for lines in shown if len(lines) > MOST_LINES]
    assert not long, f"too long are the cells that begin {long}"


@chapter
def test_shown_code_fits_the_width_of_the_text(slug):
    lines = [line for is_open, code in cells(PAGES[slug]) if is_open for line in code.split("\n")]
    assert [line for line in lines if len(line) > MOST_CHARACTERS] == []


@chapter
def test_main_text_is_short(slug):
    assert n_words(PAGES[slug]) <= MOST_WORDS


@chapter
def test_stated_time_is_honest(slug):
    (stated_minutes,) = re.findall(r"^\*\*Time:\*\* (\d+) minutes", PAGES[slug], re.MULTILINE)
    assert abs(int(stated_minutes) - minutes_to_read(PAGES[slug])) <= MOST_MINUTES_OFF


@chapter
def test_page_opens_with_a_picture_or_a_live_thing(slug):
    assert opens_with_a_picture(PAGES[slug])


def test_letters_that_the_page_of_notation_uses_twice_are_listed_there():
    page = (FOLDER.parent / "back" / "notation.md").read_text(encoding="utf-8")
    tables, twice = page.split("(letters-twice)=")
    rows = [row.split("|")[1] for row in tables.split("\n") if row.startswith("| $")]
    letter = re.compile(r"\$((?!\\(?:math|hat|tilde|log))\\?[A-Za-z][a-z]*?)(?=[_^'(,$])")
    used = Counter(found for row in rows for found in {*letter.findall(row)})
    listed = re.findall(r"^\| \$(\\?[A-Za-z]+)", twice, re.MULTILINE)
    same = {"w", "x"}  # a token, and the vectors that flow: one meaning, in several forms
    assert {found for found, n in used.items() if n > 1} - same <= {*listed}


@chapter
def test_every_figure_and_table_that_a_cell_makes_is_seen(slug):
    assert unseen(PAGES[slug]) == []


@chapter
def test_chapter_has_drawings_of_structure(slug):
    drawings = PAGES[slug].count("Diagram(") + len(re.findall(r"_assets/[\w-]+\.svg", PAGES[slug]))
    assert drawings >= LEAST_DRAWINGS, f"{drawings} drawings"


@chapter
def test_chapter_continues_the_prompt_of_the_book(slug):
    writes = any(f'"{PROMPT}' in code for _, code in cells(PAGES[slug]))
    assert writes


def test_letters_in_brackets_stay_letters():
    found = {slug: signs(page) for slug, page in PAGES.items()}
    for path in (FOLDER.parent / "back").glob("*.md"):
        found[path.stem] = signs("\n---\n" + path.read_text(encoding="utf-8"))
    assert {slug: bare for slug, bare in found.items() if bare} == {}, "write \\(c) for (c)"
    assert signs("\n---\n(a) One. (c) Two, \\(c), `(c)`, $f(c)$") == ["(c)"]


def test_prompts_begin_with_eos():
    """As the texts do that a model has read: without it greedy texts are others."""
    bare = re.compile(r"torch\.tensor\(\[(?:\w+\.)?tokenizer\.encode\((?:prompt|text)\)\]\)")
    pages = [*FOLDER.glob("*.md"), *(FOLDER.parent / "back").glob("*.md")]
    assert {p.stem for p in pages if bare.search(p.read_text(encoding="utf-8"))} == set()
    assert bare.search("torch.tensor([gpt.tokenizer.encode(prompt)])")
