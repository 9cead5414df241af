"""The byte-pair stepper: its data and table here, its behaviour in a browser."""

import gzip
import json
import math
import re
from pathlib import Path

import pytest

from course_pkg.text.tokenizers.byte_pair import GPT2_PATTERN, BytePairTokenizer
from course_pkg.widgets import Widget, bpe_stepper, show_whitespace
from tests.book.test_chapter_rules import PAGES, cells

ROOT = Path(__file__).parents[2]
AXE = (ROOT / "third_party" / "axe-core" / "axe.min.js").read_text(encoding="utf-8")
LINE = "the cat sat, the rat ran"
TEXTS = [
    "the theatre, the cat and the rat; then a café at the theatre, naïve and 日本 and 日本語",
    "she's sat there in 1999 and 2001, at the café that the cat's rat ran at",
]
TOKENIZER = BytePairTokenizer.train(TEXTS, vocab_size=300, min_count=2)
HOSTILE = [
    "",
    " ",
    "the  theatre\tat   ",
    "teh caf\u00e9 na\u00efve \u65e5\u672c\u8a9e 1999!",
    "\U0001f642 </script> aaaaaaa",
]


def stepper(**changes) -> Widget:
    arguments = {"text": LINE, "merges": TOKENIZER.merges, "n_merged": 3} | changes
    return bpe_stepper(pattern=GPT2_PATTERN, alt="a line being merged", **arguments)


def payload(widget: Widget) -> dict:
    return json.loads(re.search(r"json\">(.*?)</script>", widget.to_html(), re.DOTALL)[1])


@pytest.mark.parametrize("text", HOSTILE)
def test_stepper_table_ends_with_the_tokens_of_the_encoder(text):
    last = stepper(text=text, n_merged=0).rows[-1][2]
    expected = [TOKENIZER.tokens[i] for i in TOKENIZER.encode(text)]
    assert last == " | ".join(show_whitespace(token) for token in expected)


def test_stepper_table_begins_with_bytes_and_merges_in_the_order_learned():
    rows = stepper(text="thé", merges=[(b"t", b"h"), (b"\xc3", b"\xa9")], n_merged=0).rows
    assert [row[1] for row in rows] == ["", "t + h", r"\xc3 + \xa9"]
    assert [row[2] for row in rows] == [
        r"t | h | \xc3 | \xa9",
        r"th | \xc3 | \xa9",
        "th | é",
    ]


def test_stepper_data_gives_merges_as_pairs_of_ids():
    merges = [(b"a", b"b"), (b"ab", b"c"), (b"b", b"c"), (b"a", b"bc")]
    data = payload(stepper(text="abc", merges=merges, n_merged=1))
    assert data["merges"] == [[97, 98], [256, 99], [98, 99], [97, 258]]
    assert data["merged"] == 1


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n_merged": 99}, "n_merged is 99; this line has"),
        ({"n_merged": -1}, "n_merged is -1"),
        ({"merges": [(b"th", b"e")]}, r"\(b'th', b'e'\) uses what no earlier"),
    ],
)
def test_stepper_rejects_what_does_not_fit(changes, message):
    with pytest.raises(ValueError, match=message):
        stepper(**changes)


def test_worked_numbers_of_the_solution_on_huffman_codes_are_right():
    shares = {"a": 0.9, "b": 0.1}
    entropy = -sum(p * math.log2(p) for p in shares.values())
    assert entropy == pytest.approx(0.469, abs=5e-4)
    pairs = sorted((p * q for p in shares.values() for q in shares.values()), reverse=True)
    assert pairs == pytest.approx([0.81, 0.09, 0.09, 0.01])
    bits = sum(share * length for share, length in zip(pairs, (1, 2, 3, 3), strict=True))
    assert (bits, bits / 2) == pytest.approx((1.29, 0.645))


@pytest.fixture
def page(browser, tmp_path):
    """The stepper alone on a page, with the book's scripts and style."""
    assets = ROOT / "book" / "_assets"
    head = (
        f"<title>Stepper</title><link rel=stylesheet href={(assets / 'coursebook.css').as_uri()}>"
    )
    for name in ("lm-base.js", "lm-bpe-stepper.js"):
        head += f"<script defer src={(assets / name).as_uri()}></script>"
    body = f"<main><h1>Stepper</h1>{stepper().to_html()}</main>"
    file = tmp_path / "stepper.html"
    file.write_text(
        f"<!doctype html><html lang=en><meta charset=utf-8>{head}{body}", encoding="utf-8"
    )
    browser.get_log("browser")
    browser.get(file.as_uri())
    return browser


def find(browser, selector):
    return browser.find_elements("css selector", f"lm-bpe-stepper {selector}")


def pieces(browser) -> list[str]:
    return [piece.text for piece in find(browser, ".lm-pieces li")]


def type_line(browser, text: str) -> None:
    browser.execute_script(
        "arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('input'))",
        find(browser, "input[type=text]")[0],
        text,
    )


@pytest.mark.slow
@pytest.mark.browser
def test_stepper_rests_in_the_middle_of_the_replay(page):
    assert pieces(page) == stepper().rows[3][2].split(" | ")
    assert find(page, ".lm-merge")[0].text.startswith("Merge 3 of ")
    assert "bytes a token" in find(page, ".lm-status")[0].text


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.parametrize("text", HOSTILE)
def test_stepper_encodes_the_readers_line_as_the_package_does(page, text):
    type_line(page, text)
    expected = [show_whitespace(TOKENIZER.tokens[i]) for i in TOKENIZER.encode(text)]
    shown = page.execute_script(
        "return [...document.querySelectorAll('.lm-pieces li')].map((p) => p.textContent)"
    )
    assert shown == expected


@pytest.mark.slow
@pytest.mark.browser
def test_stepper_steps_by_buttons_and_by_keyboard(page):
    rows = [row[2].split(" | ") for row in stepper().rows]
    undo, merge = find(page, ".lm-button")
    merge.click()
    assert pieces(page) == rows[4]
    undo.click()
    undo.click()
    assert pieces(page) == rows[2]
    slider = find(page, "input[type=range]")[0]
    slider.send_keys("\ue011")  # Home
    assert pieces(page) == rows[0]
    slider.send_keys("\ue014")  # the arrow to the right
    assert pieces(page) == rows[1]
    undo.click()
    undo.click()  # there is nothing before the first step
    assert pieces(page) == rows[0]


@pytest.mark.slow
@pytest.mark.browser
def test_stepper_learns_the_most_frequent_pair_of_the_line(page):
    find(page, "input[type=radio]")[1].send_keys(" ")
    type_line(page, "low lower lowest")
    learned = BytePairTokenizer.train(["low lower lowest"], vocab_size=400, min_count=2)
    expected = [show_whitespace(learned.tokens[i]) for i in learned.encode("low lower lowest")]
    assert pieces(page) == expected
    assert find(page, ".lm-merge")[0].text.startswith(f"Merge {len(learned.merges)} of ")


@pytest.mark.slow
@pytest.mark.browser
def test_stepper_is_accessible_and_silent(page):
    # Before axe-core runs: it asks for the style sheet in a way that file:// refuses.
    assert [entry for entry in page.get_log("browser") if entry["level"] != "INFO"] == []
    page.execute_script(AXE)
    found = page.execute_async_script(
        "const done = arguments[0];"
        "axe.run('lm-bpe-stepper').then((result) => done(result.violations.map((v) => v.id)));"
    )
    assert found == []


@pytest.fixture(scope="module")
def opening() -> dict:
    """What the first cell of the page draws."""
    names = {}
    exec(next(code for _, code in cells(PAGES["tokenization"])), names)
    return names


def test_gpt2_has_the_tokens_that_the_page_names(shared_data, opening):
    with gzip.open(shared_data / "gpt2_bpe" / "encoder.json.gz", "rt", encoding="utf-8") as file:
        ids = json.load(file)
    assert len(ids) == 50_257 and ids["ĠSolidGoldMagikarp"] == 43_453
    for _, _, typed, drawn, _ in opening["TYPED"]:
        pieces, numbers = drawn.split()[::2], drawn.split()[1::2]
        assert "".join(pieces) == typed.replace(" ", "␣")
        assert [str(ids[piece.replace("␣", "Ġ")]) for piece in pieces] == numbers


@pytest.mark.exhaustive  # GPT-2's 50,000 merges take seconds to load
def test_gpt2_cuts_as_the_first_drawing_shows(shared_data, opening):
    folder = shared_data / "gpt2_bpe"
    gpt2 = BytePairTokenizer.from_gpt2_files(folder / "encoder.json.gz", folder / "vocab.bpe.gz")
    for _, _, typed, drawn, _ in opening["TYPED"]:
        ids = gpt2.encode(typed.replace("␣", " "))
        assert [str(i) for i in ids] == drawn.split()[1::2], typed
    assert len(gpt2.encode("क्या हम पहुँच गए?")) == opening["N_HINDI"] == 26
    assert len(gpt2.encode("Are we there yet?")) == 5
