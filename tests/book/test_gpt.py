"""The chapter on GPT: its knobs and cache against others' code, its counts, records and figure."""

import math
import re
from pathlib import Path

import pytest
import torch
from transformers.generation.logits_process import (
    MinPLogitsWarper,
    TemperatureLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
)

from benchmarks.weights.pretrained_rows import digest
from course_pkg import GPT, gpt_tiny, load_pretrained, widgets
from course_pkg.decoding.samplers import next_token_probs
from course_pkg.layers.attention import attention_weights
from course_pkg.results import RECORDED, benchmark, chapter_results
from course_pkg.text.stories.tasks import Reviews, bag_of_words
from tests.book.solutions import code_cells
from tests.book.test_model_figures import Figure

PAGE = (Path(__file__).parents[2] / "book" / "chapters" / "gpt.md").read_text(encoding="utf-8")
PROMPTS = ("Once upon a", "One day, the king")
LEFT, RIGHT, HOME = "\ue012", "\ue014", "\ue011"  # keys


def defined(names: dict, *starts: str) -> dict:
    """The page's cells with these first lines, run as they stand among some names."""
    for cell in code_cells(PAGE):
        if cell.lstrip().startswith(starts):
            exec(cell, names)
    return names


def test_knobs_of_the_page_match_transformers(rng):
    page = defined({"torch": torch}, "def temperature")
    for logits in 2 * torch.randn(7, 31, generator=rng, dtype=torch.float64):
        warm = TemperatureLogitsWarper(1.3)(None, logits[None])
        p = page["temperature"](logits, 1.3)
        for name, setting, theirs in (
            ("top_k", 5, TopKLogitsWarper(5)),
            ("top_p", 0.6, TopPLogitsWarper(0.6)),
            ("min_p", 0.2, MinPLogitsWarper(0.2)),
        ):
            expected = theirs(None, warm).softmax(-1)[0]
            torch.testing.assert_close(page[name](p, setting), expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("pieces", [[9], [4, 5], [1] * 9, [3, 1, 5]])
def test_reading_with_the_pages_cache_in_any_pieces_is_reading_at_once(pieces, rng):
    model = GPT(gpt_tiny(29, 12), generator=rng).eval()
    names = {"torch": torch, "model": model, "attention_weights": attention_weights}
    read = defined(names, "def heads")["read"]
    ids, cache, start = torch.randint(29, (2, 9), generator=rng), [], 0
    for length in pieces:
        logits = read(ids[:, start : start + length], cache)
        start += length
        with torch.no_grad():
            expected = model(ids[:, :start])[0][:, -1]
        torch.testing.assert_close(logits, expected, rtol=0, atol=1e-5)  # float32
    assert all(keys.shape == (2, 4, 9, 16) for keys, _ in cache)


def test_worked_numbers_are_right():
    L, D, V, T = 96, 12_288, 50_257, 2_048
    parts = 12 * L * D**2, 13 * L * D, (V + T) * D, 2 * D
    for number in (*parts, sum(parts)):
        assert f"{number:,}".replace(",", "{,}") in PAGE
    assert f"{6 * sum(parts) * 300e9:.2e}" == "3.14e+23" and "3.14 \\cdot 10^{23}" in PAGE
    per_token = 2 * 80 * 8 * 128  # a model with grouped heads
    assert per_token == 163_840 and round(2 * per_token / 1e3) == 328
    of_text = 8192 * 2 * per_token / 1e9
    assert round(of_text, 1) == 2.7 and round(8 * of_text, 1) == 21.5
    assert math.floor(80 / of_text) == 29 and math.floor(80 / (8 * of_text)) == 3


def test_reviews_have_the_bounds_that_the_page_states():
    assert Reviews().bayes_accuracy() == pytest.approx(0.9)
    assert Reviews().bayes_accuracy(bag_of_words) < 0.65


@pytest.mark.parametrize("name", ["films", "reviews"])
def test_each_start_has_the_best_of_its_own_rates_and_all_seeds(name):
    record = benchmark(f"semi_supervised_{name}")
    assert {"date", "machine", "versions", "command", "cpu_seconds"} <= record.keys()
    for run in record["runs"]:
        tried = {float(lr): reached for lr, reached in run["valid_accuracy_by_rate"].items()}
        assert tried[run["lr"]] == max(tried.values())
        assert len(run["test_accuracy"]) == len(record["seeds"])
        if name == "reviews" and run["n_labels"] < 100:  # where the page says who is ahead
            assert min(tried) < run["lr"] < max(tried)


def test_runs_of_the_scaling_study_are_tuned_and_have_three_seeds():
    record = benchmark("scaling")
    assert {"date", "machine", "versions", "command", "cpu_seconds"} <= record.keys()
    assert len(record["runs"]) == 12
    rates = {}
    for run in record["runs"]:
        assert len(run["test_nats"]) == len(record["seeds"]) == 3
        tried = {float(lr): nats for lr, nats in run["valid_nats_by_rate"].items()}
        if tried:
            assert min(tried, key=tried.__getitem__) == run["lr"]
            assert min(tried) < run["lr"] < max(tried)  # a rate on both sides was tried
            rates[run["width"]] = run["lr"]
        assert run["lr"] == rates[run["width"]]  # the longest run takes that of the one before


def test_rows_are_those_of_the_weights_that_ship():
    record = benchmark("pretrained_rows")
    message = (
        "other weights ship: run python -m benchmarks.weights.pretrained_rows, then record the page"
    )
    assert record["weights_sha256"] == digest(), message
    rows = {row.corpus: row for row in chapter_results("gpt")}
    assert rows.keys() == {"stories", "wikipedia", "tales"}
    for corpus, row in rows.items():
        assert row.source == RECORDED
        assert row.bits_per_byte == record["rows"][corpus]["bits_per_byte"]
        assert row.perplexity == record["rows"][corpus]["test_perplexity"]


# ---- the figure that shows what is cut off


def figure(**changes) -> widgets.Widget:
    return widgets.truncation("gpt-small", **({"prompts": PROMPTS, "alt": "Cuts."} | changes))


def scores(prompt: str) -> torch.Tensor:
    """The model's logits after a prompt, in hundredths, as the figure has them."""
    gpt = load_pretrained("gpt-small")
    with torch.no_grad():
        ids = torch.tensor([[gpt.tokenizer.eos_id, *gpt.tokenizer.encode(prompt)]])
        logits = gpt.model(ids)[0][:, -1].double()
    return (100 * logits).round() / 100


def test_figure_has_all_logits_of_its_prompts():
    for case in figure().data["cases"]:
        ranked = scores(case["prompt"])[0].sort(descending=True).values
        found = -torch.tensor([0, *case["drops"]]).cumsum(0) / 100
        torch.testing.assert_close(found.double(), ranked - ranked[0], rtol=0, atol=1e-4)


def test_figure_writes_what_each_rule_leaves_as_a_table():
    rows = {(row[0], row[1].split()[0]): row for row in figure().rows}
    for prompt in PROMPTS:
        before = next_token_probs(scores(prompt))
        for rule, setting in (("top-k", 40), ("top-p", 0.9), ("min-p", 0.05)):
            kept = next_token_probs(scores(prompt), **{rule.replace("-", "_"): setting}) > 0
            *_, n, mass = rows[prompt, rule]
            # hundredths of a logit move a nucleus of a thousand tokens by a few
            assert int(n.replace(",", "")) == pytest.approx(int(kept.sum()), rel=0.01)
            assert float(mass) == pytest.approx(float(before[kept].sum()), abs=2e-3)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: figure(prompts=()), "prompts is empty"),
        (lambda: figure(prompts=("",)), "prompt '' has 0 tokens; it must have 1 to 255"),
        (lambda: figure(prompts=("dog " * 300,)), "tokens; it must have 1 to 255"),
        (
            lambda: widgets.truncation("bert-small", prompts=("A",), alt="x"),
            "name is 'bert-small', a bert",
        ),
    ],
)
def test_figure_rejects_what_it_cannot_show(make, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        make()


@pytest.fixture
def cuts(browser, shipped_site):
    figure_on_page = Figure(browser, shipped_site, figure())
    yield figure_on_page
    assert figure_on_page.complaints() == []


def n_drawable(cuts: Figure) -> int:
    return int(cuts.text("[role=status]").split()[0].replace(",", ""))


def turn(cuts: Figure, knob: int, value: float) -> None:
    """Put a slider at a value, as the arrow keys would."""
    cuts.browser.execute_script(
        "arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('input'))",
        cuts.find(".lm-knob input")[knob], value,
    )  # fmt: skip


@pytest.mark.browser
def test_figure_computes_the_cuts_that_the_package_makes(cuts):
    for number, prompt in enumerate(PROMPTS):
        cuts.press("input[type=radio]", number)
        for temperature in (0.7, 1.5):
            turn(cuts, 0, temperature)
            settings = {"temperature": temperature, "top_k": 40, "top_p": 0.9, "min_p": 0.05}
            kept = next_token_probs(scores(prompt), **settings) > 0
            assert n_drawable(cuts) == int(kept.sum())
            assert f"temperature {temperature:.2f}" in cuts.text("[role=status]")


@pytest.mark.browser
def test_figure_names_the_rule_that_cuts_and_says_when_none_does(cuts):
    turn(cuts, 1, 1)  # top-k 2
    turn(cuts, 3, 0)  # min-p off
    turn(cuts, 2, 1)  # top-p off
    assert "The cut is that of top-k" in cuts.text("[role=status]")
    assert n_drawable(cuts) == 2
    assert len(cuts.find(".lm-plot text.lm-first")) == 1
    turn(cuts, 1, 10)  # off
    assert cuts.text("[role=status]").endswith("Nothing is cut off.")


@pytest.mark.browser
def test_figure_moves_by_the_keyboard(cuts):
    slider = cuts.find(".lm-knob input")[1]
    slider.send_keys(LEFT)
    assert slider.get_attribute("aria-valuetext") == "20"
    slider.send_keys(HOME)
    assert n_drawable(cuts) == 1


@pytest.mark.browser
def test_figure_asks_the_model_about_the_readers_beginning(cuts):
    cuts.type("The prince looked at")
    cuts.press(".lm-ask button")
    cuts.wait("f.current.prompt === 'The prince looked at'")
    settings = {"temperature": 1.0, "top_k": 40, "top_p": 0.9, "min_p": 0.05}
    exact = int((next_token_probs(scores("The prince looked at"), **settings) > 0).sum())
    assert abs(n_drawable(cuts) - exact) <= 1  # full logits there, hundredths here
    assert not any(radio.is_selected() for radio in cuts.find("input[type=radio]"))
    cuts.type("  ")
    cuts.press(".lm-ask button")
    assert cuts.text("[role=status]") == "The prompt is empty: type a word or two."


@pytest.mark.browser
def test_figure_is_accessible_in_both_themes(cuts):
    assert cuts.violations() == []
    cuts.browser.execute_script("document.documentElement.dataset.theme = 'dark'")
    assert cuts.violations() == []
