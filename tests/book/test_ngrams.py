"""The chapter on n-gram models: its derivations on other data, its solutions, its recorded rows."""

import math
import re
import shutil
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch

from course_pkg import widgets
from course_pkg.models.ngram import (
    AbsoluteDiscounting,
    AddK,
    KneserNey,
    NGram,
    NGramTables,
    absolute_discount,
    count_ngrams,
    mle_prob,
)
from course_pkg.results import RECORDED, benchmark, chapter_results
from course_pkg.text.tokenizers.words_characters_bytes import CharTokenizer, WordTokenizer
from course_pkg.widgets.ngram_sampler import METHODS, ORDERS
from tests.book.conftest import open_figure
from tests.book.solutions import printed_by_solutions

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "book" / "chapters" / "ngrams.md").read_text(encoding="utf-8")
AXE = (ROOT / "third_party" / "axe-core" / "axe.min.js").read_text(encoding="utf-8")
V, EOS = 7, 0


def documents(seed: int) -> list[list[int]]:
    """Some texts over six words, likelier in one order than in another."""
    rng = np.random.default_rng(seed)
    return [(1 + rng.geometric(0.35, size=11) % (V - 1)).tolist() for _ in range(5)]


def expected_counts(model: NGram, totals: np.ndarray) -> np.ndarray:
    """Left side of the marginal constraint for every word, from the model's full distributions."""
    each_history = torch.arange(V)[:, None]
    return totals @ model.next_log_probs(each_history).exp().numpy()


@pytest.mark.parametrize("discount", [0.2, 0.75, 1.0])
def test_kneser_ney_expects_each_word_as_often_as_it_occurs_whatever_the_discount(discount):
    tables = NGramTables.count(documents(1), 2, V, EOS)
    totals = tables.at_order(2).totals
    model = NGram.from_tables(tables, KneserNey(discounts=(1e-13, discount)))
    # 1e-9: the unigrams' own discount of 1e-13 and rounding
    assert expected_counts(model, totals) == pytest.approx(tables.counts[0], abs=1e-9)


def test_absolute_discounting_breaks_the_marginal_constraint():
    tables = NGramTables.count(documents(1), 2, V, EOS)
    model = NGram.from_tables(tables, AbsoluteDiscounting(discounts=(1e-13, 0.75)))
    error = expected_counts(model, tables.at_order(2).totals) - tables.counts[0]
    assert np.abs(error).max() > 0.1


def test_discount_estimate_maximises_the_leave_one_out_likelihood_of_counts_one_and_two():
    n1, n2 = 130, 37
    grid = np.linspace(0.001, 0.999, 9981)
    likelihood = n1 * np.log(grid) + 2 * n2 * np.log(1 - grid)
    best = grid[likelihood.argmax()]
    assert absolute_discount({1: n1, 2: n2}) == pytest.approx(best, abs=1e-4)  # the grid's step


def test_add_k_is_an_interpolation_with_the_uniform():
    texts = documents(2)
    tables = NGramTables.count(texts, 2, V, EOS)
    model = NGram.from_tables(tables, AddK(0.3))
    pairs = [pair for text in texts for pair in zip([EOS, *text], [*text, EOS], strict=True)]
    for history in range(V):
        seen = sum(h == history for h, _ in pairs)
        weight = seen / (seen + 0.3 * V)
        probs = model.next_log_probs(torch.tensor([[history]])).exp()[0]
        for word in range(V):
            share = pairs.count((history, word)) / max(seen, 1)
            assert float(probs[word]) == pytest.approx(weight * share + (1 - weight) / V, abs=1e-12)


def test_worked_exercise_has_the_perplexity_that_its_solution_says():
    is_, a, rose = 1, 2, 3
    counts = count_ngrams([[rose, is_, a, rose, is_, a, rose]], order=2, eos_id=EOS)
    text = [EOS, rose, is_, a, rose, EOS]
    probs = [mle_prob(counts, (h,), w) for h, w in pairwise(text)]
    assert math.prod(probs) == pytest.approx(2 / 9, abs=1e-12)
    assert math.prod(probs) ** (-1 / len(probs)) == pytest.approx(1.35, abs=0.005)  # two decimals


def test_recorded_treebank_row_is_the_one_of_the_benchmark():
    penn = benchmark("ptb_ngram")
    measured = {row["test_perplexity"] for row in penn["rows"] if row["published_perplexity"]}
    row = next(r for r in chapter_results("ngrams") if r.corpus == "Penn Treebank")
    assert (row.source, {row.perplexity}) == (RECORDED, measured)
    assert math.isclose(row.perplexity, 141.2, abs_tol=0.05)  # published to one decimal


@pytest.mark.exhaustive
def test_solutions_print_what_the_page_says():
    numbers = re.findall(r"-?\d+\.\d+(?:e-?\d+)?", printed_by_solutions(PAGE))
    printed = [float(number) for number in numbers]
    of_the, new_york, york_the, exact, plain, weight, before, after = printed[:8]
    # rounded on the page, and the last digits differ between processors
    assert (of_the, new_york, york_the) == pytest.approx((1.21, 1.12, 0.49), abs=0.006)
    assert exact < 1e-8 and plain > 1
    assert (weight, before, after) == pytest.approx((0.23, 160, 136), rel=0.01)
    assert printed[8] < 0.005


SAMPLED = [
    "One day, the cat sat on the mat; the cat's kitten sat on the dog. The dog ran!",
    "One naïve dog ran to the mat, and the cat ran to the cat's mat: 日本 1999.",
    "the end",
]


@pytest.fixture
def sampler(browser, tmp_path):
    """The sampler alone on a page, as a reader finds it."""
    for name in ("lm-base.js", "lm-ngram-sampler.js", "coursebook.css", "lm-engine.js"):
        shutil.copy(ROOT / "book" / "_assets" / name, tmp_path)
    widget = widgets.ngram_sampler(SAMPLED, prompt="One day,", alt="Samples of n-gram models.")
    open_figure(browser, tmp_path, widget.to_html(), "lm-ngram-sampler.js")
    return browser


def find(browser, selector):
    return browser.find_elements("css selector", f"lm-ngram-sampler {selector}")


def status(browser) -> str:
    return find(browser, ".lm-status")[0].text


def choose(browser, value) -> None:
    find(browser, f"input[value='{value}']")[0].send_keys(" ")


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.parametrize(
    ("unit", "tokenizer"),
    [("words", WordTokenizer.train(SAMPLED, unk=None)), ("letters", CharTokenizer.train(SAMPLED))],
)
def test_sampler_predicts_in_the_page_what_the_package_predicts(sampler, unit, tokenizer):
    """Every order and smoothing, after histories that were seen, were not, and that are short."""
    choose(sampler, unit)
    texts = [tokenizer.encode(text) for text in SAMPLED]
    V, end = tokenizer.vocab_size, tokenizer.eos_id
    prompts = ["", "One day,", "the cat's", "mat mat the", "to the cat", "ran ran ran ran ran"]
    histories = [[end, *tokenizer.encode(prompt)] for prompt in prompts]
    histories += [tokenizer.encode("the cat")]  # begins inside a text
    for order in ORDERS:
        for name, smoothing in METHODS.items():
            model = NGram.fit(texts, order, V, end, smoothing)
            for history in histories:
                tokens = [tokenizer.tokens[i] for i in history]
                found = sampler.execute_script(
                    "const [tokens, order, name] = arguments;"
                    "const { model } = document.querySelector('lm-ngram-sampler');"
                    "const ids = tokens.map((t) => model.counts.ids.get(t) ?? 0);"
                    "const { probs } = model.predict(ids, order, name);"
                    "return Object.fromEntries(model.counts.tokens.map((t, i) => [t, probs[i]]))",
                    tokens, order, name,
                )  # fmt: skip
                found[tokenizer.tokens[end]] = found.pop("⟨end⟩")
                expected = model.next_log_probs(torch.tensor([history])).exp()[0]
                assert found == pytest.approx(
                    dict(zip(tokenizer.tokens, expected.tolist(), strict=True)), abs=1e-12
                ), (order, name, tokens)  # the same sums in double precision


@pytest.mark.slow
@pytest.mark.browser
def test_sampler_continues_the_readers_prompt_and_says_when_it_cannot(sampler):
    def shown():
        return [token.text for token in find(sampler, ".lm-token")]

    assert shown()[:3] == ["One", "day", ","]
    before = shown()
    find(sampler, ".lm-button")[0].click()
    assert shown() != before and status(sampler).startswith("Order 3, modified Kneser–Ney:")
    field = find(sampler, "input[type=text]")[0]
    field.clear()
    field.send_keys("the zebra sat\n")
    assert shown()[:3] == ["the", "zebra", "sat"]
    find(sampler, ".lm-token")[1].click()
    assert "“zebra” does not occur" in find(sampler, ".lm-panel")[0].text
    choose(sampler, "none")
    field.clear()
    field.send_keys("mat mat\n")
    assert shown() == ["mat", "mat"] and "stuck" in status(sampler)


@pytest.mark.slow
@pytest.mark.browser
def test_sampler_counts_a_text_of_the_readers(sampler):
    find(sampler, ".lm-own summary")[0].click()
    area = find(sampler, "textarea")[0]
    area.send_keys("x y x y x y")
    field = find(sampler, "input[type=text]")[0]
    field.clear()
    field.send_keys("x\n")
    choose(sampler, "none")
    assert {token.text for token in find(sampler, ".lm-token")} <= {"x", "y", "⟨end⟩"}


@pytest.mark.slow
@pytest.mark.browser
def test_sampler_is_accessible_silent_steps_by_keyboard_and_fits_a_phone(sampler):
    assert [entry for entry in sampler.get_log("browser") if entry["level"] != "INFO"] == []
    tokens = find(sampler, ".lm-token")
    tokens[3].click()
    tokens[3].send_keys("\ue014")  # the arrow to the right
    assert tokens[4].get_attribute("aria-pressed") == "true"
    assert sampler.switch_to.active_element == tokens[4]
    assert "0.000" not in find(sampler, ".lm-panel")[0].text
    sampler.execute_script(AXE)
    violations = sampler.execute_async_script(
        "const done = arguments[0];"
        "axe.run('lm-ngram-sampler').then((r) => done(r.violations.map((v) => v.id)));"
    )
    assert violations == []
    sampler.set_window_size(500, 900)
    page, screen = sampler.execute_script("return [document.body.scrollWidth, innerWidth]")
    assert page <= screen
