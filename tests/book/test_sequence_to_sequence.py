"""The chapter on sequence to sequence: its worked numbers, its rows, and the alignment explorer."""

import base64
import json
import math
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

from course_pkg import widgets
from course_pkg.decoding.beam_search import greedy_search, length_penalty
from course_pkg.evaluation.metrics import bleu
from course_pkg.layers.attention import AdditiveScore, BilinearScore, DotScore, ScaledDotScore
from course_pkg.layers.recurrent import GRUCell, LSTMCell
from course_pkg.models.seq2seq import Seq2Seq
from course_pkg.results import benchmark, chapter_results
from course_pkg.text.stories.translation import sample_passages, sample_translations
from course_pkg.text.tokenizers import CharTokenizer

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "book" / "chapters" / "sequence_to_sequence.md").read_text(encoding="utf-8")
AXE = (ROOT / "third_party" / "axe-core" / "axe.min.js").read_text(encoding="utf-8")


def test_context_moves_with_a_score_as_derived():
    """d c / d e_k = a_k (h_k - c), for every k and every entry of c, against autograd."""
    generator = torch.Generator().manual_seed(7)
    h = torch.randn(5, 3, generator=generator, dtype=torch.float64)
    e = torch.randn(5, generator=generator, dtype=torch.float64)
    jacobian = torch.autograd.functional.jacobian(lambda e: e.softmax(-1) @ h, e)  # (R, S)
    a = e.softmax(-1)
    by_hand = (a[:, None] * (h - a @ h)).T
    torch.testing.assert_close(jacobian, by_hand, rtol=0, atol=1e-12)  # float64, five terms


@pytest.mark.parametrize("score", [DotScore(), ScaledDotScore(), BilinearScore(4, 4)], ids=str)
def test_key_between_two_others_never_wins_by_a_product(score):
    generator = torch.Generator().manual_seed(2)
    ends = torch.randn(200, 2, 4, generator=generator)
    share = torch.rand(200, 1, generator=generator)
    middle = share * ends[:, 0] + (1 - share) * ends[:, 1]
    query = torch.randn(200, 1, 4, generator=generator)
    scores = score(query, torch.stack([ends[:, 0], middle, ends[:, 1]], dim=1))[:, 0]
    # 1e-5: float32 sums of four products
    assert (scores[:, 1] <= scores[:, [0, 2]].amax(dim=1) + 1e-5).all()


def test_key_between_two_others_can_win_by_the_additive_score():
    score = AdditiveScore(1, 1, 2)
    with torch.no_grad():
        score.project_query.weight.copy_(torch.tensor([[1.0], [-1.0]]))
        score.project_key.weight.copy_(torch.tensor([[1.0], [1.0]]))
        score.score.weight.copy_(torch.tensor([[1.0, -1.0]]))
    scores = score(torch.ones(1, 1, 1), torch.tensor([[[-1.0], [0.0], [1.0]]]))[0, 0]
    assert scores.argmax() == 1
    assert scores.tolist() == pytest.approx([0.96, 1.52, 0.96], abs=0.005)  # as the page says


def test_worked_numbers_of_the_text_are_right():
    weights = [1 / 8, 2 / 8, 5 / 8]
    context = sum(a * h for a, h in zip(weights, (4, 0, 2), strict=True))
    slopes = [a * (h - context) for a, h in zip(weights, (4, 0, 2), strict=True)]
    assert context == 1.75
    assert slopes == pytest.approx([0.28125, -0.4375, 0.15625], abs=1e-12)
    assert (length_penalty(4, 1.0), length_penalty(8, 1.0)) == pytest.approx((1.5, 13 / 6))
    shorter, longer = -2.0 / length_penalty(4, 1.0), -2.6 / length_penalty(8, 1.0)
    assert (shorter, longer) == pytest.approx((-1.33, -1.20), abs=0.005)


def test_bleu_is_the_formula_of_the_page():
    """One hypothesis, n-grams counted by hand, shorter than its reference."""
    reference, hypothesis = "a b c d e f g", "a b c d x f"
    # Of 6 words 5 occur, of 5 pairs 3, of 4 triples 2, of 3 quadruples 1; brevity e^(1 - 7/6).
    expected = 100 * math.exp(1 - 7 / 6) * (5 / 6 * 3 / 5 * 2 / 4 * 1 / 3) ** 0.25
    assert bleu([hypothesis], [reference]) == pytest.approx(expected, abs=1e-9)


def test_recorded_rows_lie_between_a_perfect_translator_and_one_that_sees_no_source():
    rows = {row.model: row for row in chapter_results("sequence_to_sequence")}
    blind = rows.pop("5-gram of Velu, no source").perplexity
    assert all(1 <= row.perplexity < blind for row in rows.values())
    dot, one = rows["GRU, dot product"], rows["GRU, one vector"]
    assert dot.perplexity < 1.1 < one.perplexity
    assert dot.n_parameters == one.n_parameters  # a dot product has none


def test_recorded_scores_have_three_seeds_and_the_page_says_where_they_disagree():
    record = benchmark("attention_scores")
    assert list(record["rows"]) == ["mean", "dot product", "scaled dot", "bilinear", "additive"]
    assert all(len(runs) == len(record["seeds"]) == 3 for runs in record["rows"].values())
    four = [run["right"][3] for run in record["rows"]["bilinear"]]
    assert sorted(share > 0.5 for share in four) == [False, False, True]
    assert "one good seed and two bad ones" in PAGE
    (passage,) = sample_passages(record["shown_passage"] + 1, longest=4, seed=2)[-1:]
    for weights in record["shown_weights"].values():
        assert [len(weights), len(weights[0])] == [len(passage.target), len(passage.source)]


def explorer() -> widgets.Widget:
    """Two translations; model "gold" looks at the first right word, "last" at the last word."""
    texts = []
    for text in sample_translations(2, seed=6):
        gold = torch.zeros(len(text.target), len(text.source))
        for s, t in sorted(text.links, reverse=True):
            gold[t] = torch.nn.functional.one_hot(torch.tensor(s), len(text.source))
        last = torch.zeros_like(gold)
        last[:, -1] = 1
        texts.append(
            widgets.Alignment(text.source, text.target, text.links, {"last": last, "gold": gold})
        )
    return widgets.alignment_explorer(texts, selected=1, alt="Where two models look.")


@pytest.fixture
def page(browser, tmp_path):
    """The element on a page of its own, opened from the file system."""
    for name in ("lm-base.js", "lm-alignment.js", "coursebook.css"):
        shutil.copy(ROOT / "book" / "_assets" / name, tmp_path)
    file = tmp_path / "page.html"
    file.write_text(
        '<!doctype html><html lang="en" data-theme="light"><head><title>Alignment</title>'
        '<meta charset="utf-8"><link rel="stylesheet" href="coursebook.css">'
        '<script defer src="lm-base.js"></script><script defer src="lm-alignment.js"></script>'
        f"</head><body><main><h1>Alignment</h1>{explorer().to_html()}</main></body></html>",
        encoding="utf-8",
    )
    browser.get_log("browser")
    browser.get(file.as_uri())
    return browser


def find(browser, selector):
    return browser.find_elements("css selector", f"lm-alignment {selector}")


def shown(browser) -> tuple[list[str], list[str]]:
    """Source words with their weights, and those that are framed."""
    words = [word.text.replace("\n", " ") for word in find(browser, ".lm-words li")]
    return words, [w.text.split("\n")[0] for w in find(browser, ".lm-words li[data-gold]")]


DATA = json.loads(json.dumps(dict(explorer().data)))


def expected(text: int, model: str, word: int) -> tuple[list[str], list[str]]:
    shown_text = DATA["texts"][text]
    row = shown_text["weights"][model][word]
    words = [f"{w} {a:.2f}" for w, a in zip(shown_text["source"], row, strict=True)]
    return words, [shown_text["source"][s] for s in shown_text["gold"][word]]


@pytest.mark.slow
@pytest.mark.browser
def test_explorer_rests_on_the_last_model_and_the_selected_word(page):
    assert shown(page) == expected(0, "gold", 1)
    word = DATA["texts"][0]["target"][1]
    assert find(page, ".lm-token[aria-pressed=true]")[0].text == word
    assert f"“{word}” looks most at" in find(page, ".lm-status")[0].text


@pytest.mark.slow
@pytest.mark.browser
def test_explorer_follows_arrow_keys_and_stops_at_the_ends(page):
    buttons = find(page, ".lm-token")
    buttons[1].send_keys("\ue014")  # the arrow to the right
    assert shown(page) == expected(0, "gold", 2)
    assert page.switch_to.active_element == buttons[2]
    for _ in range(4):
        page.switch_to.active_element.send_keys("\ue012")  # to the left
    assert shown(page) == expected(0, "gold", 0)
    assert [b.get_attribute("tabindex") for b in buttons].count("0") == 1


@pytest.mark.slow
@pytest.mark.browser
def test_explorer_follows_the_pointer_and_the_choices(page):
    page.execute_script(
        "arguments[0].dispatchEvent(new MouseEvent('mouseenter'))", find(page, ".lm-token")[2]
    )
    assert shown(page) == expected(0, "gold", 2)
    find(page, "input[value=last]")[0].send_keys(" ")
    assert shown(page) == expected(0, "last", 2)
    find(page, "input[value='2']")[0].send_keys(" ")
    assert shown(page) == expected(1, "last", 0)


@pytest.mark.slow
@pytest.mark.browser
def test_explorer_is_accessible_and_silent(page):
    # Before axe-core runs: it asks for the style sheet in a way that file:// refuses.
    assert [entry for entry in page.get_log("browser") if entry["level"] != "INFO"] == []
    page.execute_script(AXE)
    found = page.execute_async_script(
        "const done = arguments[0];"
        "axe.run('lm-alignment').then((result) => done(result.violations.map((v) => v.id)));"
    )
    assert found == []


SYMBOLS = CharTokenizer.train(["abcdefghij xyz"])


def small_model(**changes) -> Seq2Seq:
    """Random weights, large enough that the letters written differ."""
    size = len(SYMBOLS.tokens)
    options = {"score": DotScore(), "cell": GRUCell, "eos_id": SYMBOLS.eos_id} | changes
    model = Seq2Seq(size, size, 5, 6, **options, generator=torch.Generator().manual_seed(4)).eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight *= 4
    return model


def restorer() -> widgets.Widget:
    return widgets.vowel_restorer(small_model(), SYMBOLS, text="bad hid", most=9, alt="Vowels.")


def read_back() -> Seq2Seq:
    """The model with the weights as they stand in the figure."""
    model = small_model()
    with torch.no_grad():
        for name, weight in model.named_parameters():
            packed = dict(restorer().data)["weights"][name]
            numbers = np.frombuffer(base64.b64decode(packed["numbers"]), dtype="<i2")
            exact = torch.from_numpy(numbers.astype(np.float64) * packed["scale"])
            assert (exact.reshape(packed["shape"]) - weight).abs().max() <= packed["scale"]
            weight.copy_(exact.reshape(packed["shape"]))
    return model


def written_by_torch(text: str) -> tuple[list[str], list[list[float]]]:
    """What the model writes for a text without its vowels, and the weights of each letter."""
    model, end = read_back(), SYMBOLS.eos_id
    source = torch.tensor([SYMBOLS.encode("".join(c for c in text if c not in "aei"))])
    (found,) = greedy_search(model.start(source), torch.tensor([end]), eos_id=end, max_length=18)
    with torch.no_grad():
        (weights,) = model.align(source, torch.tensor([[end, *found.ids[:-1]]]))
    names = ["⟨end⟩" if i == end else SYMBOLS.tokens[i].replace(" ", "␣") for i in found.ids]
    return names, weights.tolist()


def test_restorer_writes_what_the_rounded_model_writes_as_a_table():
    names, weights = written_by_torch("bad hid")
    rows = restorer().rows
    assert [row[0].replace("the end", "⟨end⟩") for row in rows] == names
    assert [row[2] for row in rows] == [f"{max(row):.2f}" for row in weights]


@pytest.mark.parametrize(
    ("model", "text", "message"),
    [
        ({"score": None}, "bad", "another cell, score"),
        ({"score": ScaledDotScore()}, "bad", "another cell, score"),
        ({"cell": LSTMCell}, "bad", "another cell, score"),
        ({"n_layers": 2}, "bad", "number of layers"),
        ({}, "aei", "needs a consonant"),
        ({}, "bad bad bad", "at most 9 letters"),
        ({}, "bad?", r"\?"),
    ],
)
def test_restorer_rejects_what_the_page_cannot_compute(model, text, message):
    with pytest.raises(ValueError, match=message):
        widgets.vowel_restorer(small_model(**model), SYMBOLS, text=text, most=9, alt="v")


@pytest.fixture
def restorer_page(browser, tmp_path):
    for name in ("lm-base.js", "lm-restorer.js", "coursebook.css"):
        shutil.copy(ROOT / "book" / "_assets" / name, tmp_path)
    file = tmp_path / "page.html"
    file.write_text(
        '<!doctype html><html lang="en" data-theme="light"><head><title>Vowels</title>'
        '<meta charset="utf-8"><link rel="stylesheet" href="coursebook.css">'
        '<script defer src="lm-base.js"></script><script defer src="lm-restorer.js"></script>'
        f"</head><body><main><h1>Vowels</h1>{restorer().to_html()}</main></body></html>",
        encoding="utf-8",
    )
    browser.get_log("browser")
    browser.get(file.as_uri())
    return browser


def restored(browser) -> tuple[list[str], list[list[float]]]:
    """The letters on the page, and the weights that each shows when it is chosen."""
    names, weights = [], []
    for button in browser.find_elements("css selector", "lm-restorer .lm-token"):
        browser.execute_script("arguments[0].click()", button)
        names.append(button.text)
        shown_weights = browser.find_elements("css selector", "lm-restorer .lm-weight")
        weights.append([float(weight.text) for weight in shown_weights])
    return names, weights


@pytest.mark.slow
@pytest.mark.browser
def test_restorer_computes_as_torch_does_and_says_what_it_leaves_out(restorer_page):
    page = restorer_page
    field = page.find_element("css selector", "lm-restorer input")
    status = page.find_element("css selector", "lm-restorer .lm-status")
    for typed in ("bad hid", "xyz", "j g"):
        field.clear()
        field.send_keys(typed)
        names, weights = restored(page)
        expected_names, expected_weights = written_by_torch(typed)
        assert names == expected_names
        for row, expected_row in zip(weights, expected_weights, strict=True):
            assert row == pytest.approx(expected_row, abs=0.0051)  # two digits on the page
    field.clear()
    field.send_keys("b?")
    assert "has never seen" in status.text
    field.clear()
    field.send_keys("ae")
    assert "no consonant" in status.text
    assert not page.find_elements("css selector", "lm-restorer .lm-token")


@pytest.mark.slow
@pytest.mark.browser
def test_restorer_is_accessible_and_silent(restorer_page):
    page = restorer_page
    assert [entry for entry in page.get_log("browser") if entry["level"] != "INFO"] == []
    page.execute_script(AXE)
    found = page.execute_async_script(
        "const done = arguments[0];"
        "axe.run('lm-restorer').then((result) => done(result.violations.map((v) => v.id)));"
    )
    assert found == []
