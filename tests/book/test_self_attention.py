"""The chapter on self-attention: derivations, worked numbers, records, and its figure in a page."""

import math
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

from course_pkg import widgets
from course_pkg.layers.attention import MultiHeadAttention, attend, causal_mask
from course_pkg.results import benchmark, chapter_results
from course_pkg.text.stories.translation import sample_passages
from course_pkg.widgets.random_attention import MOST_WORDS, WIDTHS, attention_of_words

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "book" / "chapters" / "self_attention.md").read_text(encoding="utf-8")
AXE = (ROOT / "third_party" / "axe-core" / "axe.min.js").read_text(encoding="utf-8")
SENTENCE = "Zuko made his uncle tea"
EXACT = {"rtol": 0.0, "atol": 1e-12}  # float64, a few dozen terms


def normal(*shape, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


@pytest.mark.parametrize("K", [3, 48])
def test_scores_of_independent_entries_have_variance_k(K):
    scores = (normal(20_000, K) * normal(20_000, K, seed=1)).sum(-1)
    assert scores.var().item() == pytest.approx(K, rel=0.05)  # 5 standard errors of 20,000 draws
    assert abs(scores.mean().item()) < 5 * math.sqrt(K / 20_000)


def test_the_gradient_at_the_scores_dies_when_one_key_has_all_weight():
    """a_s (v_s - o), as the page says, is zero for every s once a is a choice of one."""
    value = normal(6)
    for size in (1.0, 300.0):
        scores = (size * normal(6, seed=2)).requires_grad_()
        weights = scores.softmax(-1)
        (slope,) = torch.autograd.grad(weights @ value, scores)
        torch.testing.assert_close(slope, (weights * (value - weights @ value)).detach(), **EXACT)
    assert slope.abs().max() < 1e-12


def test_permuted_inputs_give_permuted_outputs_and_the_mask_ends_that():
    layer = MultiHeadAttention(12, 3).double()
    x, order = normal(1, 5, 12), torch.tensor([3, 0, 4, 1, 2])
    with torch.no_grad():
        torch.testing.assert_close(layer(x[:, order]), layer(x)[:, order], **EXACT)
        masked = layer(x, is_causal=True)[:, order]
        assert not torch.allclose(layer(x[:, order], is_causal=True), masked, atol=1e-3)


def test_masked_rows_are_the_layer_on_each_prefix():
    query, key, value = normal(3, 7, 4)
    prefixes = [attend(query[:t], key[:t], value[:t])[-1] for t in range(1, 8)]
    torch.testing.assert_close(
        attend(query, key, value, causal_mask(7)), torch.stack(prefixes), **EXACT
    )


def test_worked_numbers_of_the_text_are_right():
    query, key = torch.tensor([[1.0], [2.0]]), torch.tensor([[0.0], [math.log(2)]])
    value = torch.tensor([[3.0], [6.0]])
    assert attend(query, key, value).flatten().tolist() == pytest.approx([5, 5.4], rel=1e-6)
    masked = attend(query, key, value, causal_mask(2))
    assert masked.flatten().tolist() == pytest.approx([3, 5.4], rel=1e-6)
    assert round(math.exp(8), -3) == 3000
    first, second = (4 * T * 1024**2 + 2 * T**2 * 1024 for T in (512, 1024))
    assert second / first == pytest.approx(2.4, abs=0.01)  # the first quiz
    assert 2 * 768 > 1000  # a thousand words, and the square is not yet the larger part
    parts = [x * 1024 / 1e9 for T in (512, 1024) for x in (4 * T * 1024, 2 * T**2)]
    assert parts == pytest.approx([2.1, 0.5, 4.3, 2.1], abs=0.05)


def test_recorded_steps_say_what_the_page_says():
    rows = benchmark("five_steps")["rows"]
    assert list(rows) == [*"012345", "3 + positions", "4 + positions", "5 + positions"]
    for name, row in rows.items():
        assert len(row["runs"]) == 3
        tuned = {float(lr): loss for lr, loss in row["validation_loss_by_lr"].items()}
        assert row["lr"] == min(tuned, key=tuned.get), name
        assert min(tuned) < row["lr"] < max(tuned), f"{name}: best rate at the edge of the grid"
    two = {
        name: np.mean([run["right_two_sentences"] for run in row["runs"]])
        for name, row in rows.items()
    }
    # Each step up to the third keeps what the first has won; then order is lost, and comes back.
    assert two["0"] < 0.1 and min(two[step] for step in "123") > 0.99
    assert two["5"] < two["4"] < two["3"]
    assert two["4 + positions"] > two["4"] and two["5 + positions"] > two["5"] + 0.5
    for name, row in rows.items():
        short, long = row["serial_steps"].values()
        assert (long == short) == (name[0] in "45"), name


def test_two_sentence_passages_of_the_test_set_are_new():
    train, test = (
        [p.source for p in sample_passages(n, longest=2, seed=seed)]
        for n, seed in ((6000, 1), (400, 3))
    )
    seen = set(train)
    known = [source for source in test if source in seen]
    n_short = sum(source.count(source[-1]) == 1 for source in test)
    assert (n_short, len(known)) == (218, 26)
    assert all(source.count(source[-1]) == 1 for source in known)


def test_row_of_the_ladder_is_between_the_floor_and_the_lstm():
    (row,) = chapter_results("self_attention")
    lstm = next(
        r for r in chapter_results("recurrent") if (r.model, r.corpus) == ("LSTM", "stories")
    )
    assert 1.646 < row.perplexity < lstm.perplexity
    assert row.n_parameters == 33_023 < lstm.n_parameters


def test_random_attention_table_shows_saturation_without_the_division():
    rows = {int(row[0]): [float(x) for x in row[1:]] for row in figure().rows}
    assert list(rows) == list(WIDTHS)
    assert rows[1024][0] > 0.9 and rows[1024][1] < 0.15  # as it is
    assert all(through > 0.5 for *_, through in rows.values())  # divided, at every width
    assert rows[1][:2] == rows[1][2:]  # the root of 1


def test_random_numbers_have_mean_zero_and_variance_one():
    """Queries and keys of many words give scores of variance d, as independent ones do."""
    words = [f"word{n}" for n in range(60)]
    weights = attention_of_words(words, 64, 8.0)
    np.testing.assert_allclose(weights.sum(axis=1), 1.0, atol=1e-12)
    scores = np.log(weights) - np.log(weights).mean(axis=1, keepdims=True)
    assert scores.var() == pytest.approx(1.0, abs=0.1)


@pytest.mark.parametrize(
    ("text", "d", "message"),
    [
        ("", 64, "text has 0 words; it must have 1 to 10"),
        ("a " * (MOST_WORDS + 1), 64, "text has 11 words"),
        (SENTENCE, 3, "d is 3; it must be one of"),
    ],
)
def test_random_attention_rejects_what_it_cannot_show(text, d, message):
    with pytest.raises(ValueError, match=message):
        widgets.random_attention(text, d=d, alt="weights")


def figure() -> widgets.Widget:
    return widgets.random_attention(SENTENCE, alt="Weights between random vectors of words.")


@pytest.fixture
def page(browser, tmp_path):
    """The element on a page of its own, opened from the file system."""
    for name in ("lm-base.js", "lm-random-attention.js", "coursebook.css"):
        shutil.copy(ROOT / "book" / "_assets" / name, tmp_path)
    file = tmp_path / "page.html"
    file.write_text(
        '<!doctype html><html lang="en" data-theme="light"><head><title>Random attention</title>'
        '<meta charset="utf-8"><link rel="stylesheet" href="coursebook.css">'
        '<script defer src="lm-base.js"></script>'
        '<script defer src="lm-random-attention.js"></script>'
        f"</head><body><main><h1>Attention</h1>{figure().to_html()}</main></body></html>",
        encoding="utf-8",
    )
    browser.get_log("browser")
    browser.get(file.as_uri())
    return browser


def find(browser, selector):
    return browser.find_elements("css selector", f"lm-random-attention {selector}")


def shown(browser) -> list[list[float]]:
    """The weights in the grid, as the page has computed them."""
    script = "return document.querySelector('lm-random-attention').table"
    return browser.execute_script(script)


def choose(browser, value) -> None:
    find(browser, f"input[value='{value}']")[0].send_keys(" ")


def write(browser, text) -> None:
    field = find(browser, "input[type=text]")[0]
    field.clear()
    field.send_keys(text)


def status(browser) -> str:
    return find(browser, ".lm-status")[0].text


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.parametrize("d", [1, 64, 256])
def test_page_computes_what_python_computes(page, d):
    choose(page, d)
    divided = attention_of_words(SENTENCE.split(), d, math.sqrt(d))
    # the same operations in double precision; sums of d products in the same order
    np.testing.assert_allclose(shown(page), divided, atol=1e-9)
    choose(page, "as it is")
    whole = attention_of_words(SENTENCE.split(), d, 1.0)
    np.testing.assert_allclose(shown(page), whole, atol=1e-9)


@pytest.mark.slow
@pytest.mark.browser
def test_page_attends_to_the_readers_own_words_whatever_they_are(page):
    write(page, "naïve ⟨x⟩ 象 naïve")
    words = ["naïve", "⟨x⟩", "象", "naïve"]
    np.testing.assert_allclose(shown(page), attention_of_words(words, 64, 8.0), atol=1e-9)
    assert shown(page)[0] == shown(page)[3]  # the same word, the same row
    write(page, " ")
    assert status(page) == "Type a word or more."
    write(page, " ".join("abcdefghijkl"))
    assert len(shown(page)) == MOST_WORDS
    assert status(page).endswith("Only the first 10 words are shown.")


@pytest.mark.slow
@pytest.mark.browser
def test_page_masks_the_future_and_padding(page):
    choose(page, "words up to itself")
    weights = np.array(shown(page))
    assert not np.triu(weights, 1).any()
    np.testing.assert_allclose(weights.sum(axis=1), 1.0, atol=1e-12)
    choose(page, "all words")
    alone = np.array(shown(page))
    choose(page, "2, masked")
    padded = np.array(shown(page))
    assert padded.shape == (5, 7) and not padded[:, 5:].any()
    np.testing.assert_allclose(padded[:, :5], alone, atol=1e-12)
    choose(page, "2, not masked")
    assert (np.array(shown(page))[:, 5:] > 0).all()


@pytest.mark.slow
@pytest.mark.browser
def test_page_reads_a_row_aloud_when_it_is_chosen_by_keyboard(page):
    find(page, "tbody button")[2].send_keys(" ")
    row = shown(page)[2]
    best = SENTENCE.split()[int(np.argmax(row))]
    assert status(page).startswith(f"“his” looks most at “{best}” ({max(row):.2f})")
    assert page.switch_to.active_element.text == "his"
    page.switch_to.active_element.send_keys(" ")
    assert status(page).startswith("On average over the rows")


@pytest.mark.slow
@pytest.mark.browser
def test_figure_is_accessible_silent_and_fits_a_phone(page):
    assert [entry for entry in page.get_log("browser") if entry["level"] != "INFO"] == []
    page.execute_script(AXE)
    found = page.execute_async_script(
        "const done = arguments[0];"
        "axe.run('lm-random-attention').then((r) => done(r.violations.map((v) => v.id)));"
    )
    assert found == []
    page.set_window_size(500, 900)
    width = page.execute_script("return [document.body.scrollWidth, window.innerWidth]")
    assert width[0] <= width[1]
