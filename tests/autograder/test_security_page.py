"""Every sentence of SECURITY.md that promises something names its tests, and they exist."""

import ast
import functools
import re

import pytest

from tests.autograder.users import ROOT

PAGE = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| (\d+) \| ([^|]+) \| (`[^|]*\.py[^|]*) \|$", PAGE, flags=re.MULTILINE)
SECTIONS = dict(re.findall(r"^## (.+)\n\n((?:(?!## ).*\n)*)", PAGE, flags=re.MULTILINE))
REFERENCE = re.compile(r" \[([\d, ]+)\]")

# What explains, or says what to do, and promises nothing.
EXPLAINS = (
    "the session and its probe processes | **no**",
    "Ubuntu has forbidden bubblewrap its user namespaces",
    "`crun` and `runc` make namespaces",
    "`runsc` is gVisor",
    "Inside gVisor there is no Landlock",
    "**With `runsc` it has not**",
)
# What takes a promise back may still hold one: where it says what is done, it names the test.
DOES = re.compile(
    r"\b(are held by adding|is graded as any other|in parallel shortens nothing|can end uncounted"
    r"|We know of no|that it has for that|marks every grade|reaches nothing else|into the sandbox"
    r"|are shared and kept|follows from a secret|We keep what would act)"
)


def sentences(text):
    """Return the sentences of paragraphs, items and tables, each with the numbers after it."""
    lines = [line for line in text.splitlines() if not re.fullmatch(r"\|[-| ]*\|", line)]
    rows = [line.strip("| ") for line in lines if line.startswith("| ")]
    rest = "\n".join("" if line.startswith("|") else line for line in lines)
    blocks = [" ".join(block.split()) for block in re.split(r"\n\s*\n|\n(?=- )", rest)]
    found = [each for block in blocks for each in re.split(r"(?<=[.:]) (?=[A-Z*`])", block) if each]
    return [*rows, *found]


def test_there_are_promises():
    assert len(ROWS) >= 50
    assert [int(number) for number, *_ in ROWS] == list(range(1, len(ROWS) + 1))
    assert len({promise for _, promise, _ in ROWS}) == len(ROWS)


@functools.cache
def names_in(file):
    tree = ast.parse((ROOT / "tests/autograder" / file).read_text(encoding="utf-8"))
    return {
        node.name
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    }


@pytest.mark.parametrize(("promise", "tests"), [row[1:] for row in ROWS], ids=[r[1] for r in ROWS])
def test_promise_is_held_by_tests_that_exist(promise, tests):
    named = re.findall(r"`([^`]+)`", tests)
    assert named
    for name in named:
        file, _, function = name.partition("::")
        assert function in names_in(file) or (not function and names_in(file))


@pytest.mark.parametrize(
    "section", ["What runs where", "What the sandbox promises, by tier and kernel"]
)
def test_every_sentence_names_its_promises(section):
    titles = {row.split("|")[0].strip() for row in ("process | trusted", "| tier A")}
    bare = [
        sentence
        for sentence in sentences(SECTIONS[section])
        if not REFERENCE.search(sentence)
        and not sentence.startswith(EXPLAINS)
        and sentence.split("|")[0].strip() not in titles
        and not sentence.startswith("tier A: namespaces |")
    ]
    assert bare == []


def test_what_explains_stands_on_the_page():
    found = [one for text in SECTIONS.values() for one in sentences(text)]
    for start in EXPLAINS:
        assert any(sentence.startswith(start) for sentence in found), start


def test_sentence_that_takes_a_promise_back_names_what_it_leaves():
    text = SECTIONS["What it does not promise"]
    doing = [sentence for sentence in sentences(text) if DOES.search(sentence)]
    assert len(doing) >= 12
    assert [sentence for sentence in doing if not REFERENCE.search(sentence)] == []


def test_every_number_is_that_of_a_promise():
    numbers = {int(n) for found in REFERENCE.findall(PAGE) for n in found.split(", ")}
    assert numbers <= {int(number) for number, *_ in ROWS}
    assert len(numbers) >= 40
