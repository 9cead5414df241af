"""The chapter on encoder–decoders: its functions, counts and published tables, its figure."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from course_pkg import EncoderDecoder, TransformerConfig, widgets
from course_pkg.models.transformer import count_parameters
from course_pkg.results import benchmark, chapter_results
from course_pkg.text.stories.grammar import StoryGrammar
from course_pkg.widgets.corruption import EOS, MASK, OBJECTIVES

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "book" / "chapters" / "encoder_decoders.md").read_text(encoding="utf-8")
AXE = (ROOT / "third_party" / "axe-core" / "axe.min.js").read_text(encoding="utf-8")
TEXT = "One day, Mia went to the lake. She had a red kite. At noon she went home."

# Raffel et al. 2020, table 2: GLUE, CNN/DM, SQuAD, SuperGLUE.
T5_TABLE = [
    (83.28, 19.24, 80.88, 71.36),
    (82.81, 18.78, 80.63, 70.73),
    (80.88, 18.97, 77.59, 68.42),
    (74.70, 17.93, 61.14, 55.02),
    (81.82, 18.61, 78.94, 68.11),
    (79.56, 18.59, 76.02, 64.29),
    (73.78, 17.54, 53.81, 56.51),
    (79.68, 17.84, 76.87, 64.86),
]
# Lewis et al. 2020, table 1: SQuAD, MNLI, XSum, CNN/DM.
BART_TABLE = [
    (90.4, 84.1, 7.08, 6.10),
    (90.4, 84.1, 6.90, 5.87),
    (90.8, 84.0, 6.61, 5.83),
    (77.2, 75.3, 17.14, 10.59),
    (85.4, 81.5, 10.93, 7.89),
    (90.8, 83.8, 6.62, 5.41),
]
BERT_STYLE_ON_GLUE = 82.96  # Raffel et al. 2020, table 5


def numbers_of(first: str, last: str) -> list[tuple[float, ...]]:
    """Return the four decimals of each row of a table of the page."""
    rows = PAGE[PAGE.index(first) : PAGE.index(last)].split("\n")
    found = [re.findall(r"(?<=\| )\**(\d+\.\d+)\**(?= \|)", row) for row in rows]
    return [tuple(map(float, row)) for row in found if row]


def test_published_tables_stand_as_published():
    assert numbers_of("| shape | objective |", "Compare pairs of rows") == T5_TABLE
    assert numbers_of("| noise | SQuAD", "(Table 1 of {cite:t}`lewis2020bart`.)") == BART_TABLE
    assert round(T5_TABLE[4][2] - T5_TABLE[3][2], 2) == 17.80  # what SQuAD gains by the mask
    assert f"{BERT_STYLE_ON_GLUE} and {T5_TABLE[0][0]}" in PAGE


def test_sizes_are_those_of_transformers():
    transformers = pytest.importorskip("transformers")
    config = TransformerConfig(
        vocab_size=100,
        context_length=64,
        d_model=32,
        n_heads=4,
        n_layers=3,
        d_ff=64,
        positions="none",
        norm="rms",
        activation="relu",
        has_bias=False,
    )
    theirs = transformers.T5Config(
        vocab_size=100, d_model=32, d_kv=8, d_ff=64, num_layers=3, num_heads=4
    )
    with torch.device("meta"):
        n = sum(p.numel() for p in transformers.T5ForConditionalGeneration(theirs).parameters())
        assert count_parameters(EncoderDecoder(config)) + 2 * 32 * 4 == n
        deeper = count_parameters(EncoderDecoder(replace(config, n_layers=4)))
    more = deeper + 2 * 32 * 4 - n
    assert more == 4 * 32**2 + 8 * 32**2 + 4 * 32 * 64 + 5 * 32  # two blocks, five norms


def test_recorded_arms_are_tuned_and_have_three_seeds():
    recorded = benchmark("encoder_decoders")
    assert {"date", "machine", "versions", "command", "cpu_seconds"} <= recorded.keys()
    for name, arm in recorded["arms"].items():
        assert len(arm["test"]) == len(recorded["seeds"]) == 3
        searches = [(arm["task_lr"], arm["task_valid_nats_by_rate"])]
        if "not pretrained" not in name:
            searches.append((arm["lr"], arm["valid_nats_by_rate"]))
        for chosen, tried in searches:
            rates = {float(rate): nats for rate, nats in tried.items()}
            assert min(rates, key=rates.__getitem__) == chosen
            assert min(rates) < chosen < max(rates)  # a rate on both sides was tried


def test_row_on_stories_lies_above_the_floor():
    (row,) = chapter_results("encoder_decoders")
    assert StoryGrammar().floor_perplexity() < row.perplexity < 3


def figure(**changes) -> widgets.Widget:
    return widgets.corruption_chooser(**({"text": TEXT, "alt": "Objectives."} | changes))


def words_of(text: str) -> list[str]:
    return re.findall(r"\w+|[^\w\s]", text)


def restore(objective: str, source: list[str], target: list[str]) -> list[str]:
    """Return the text that input and target make together."""
    if objective == "prefix LM":
        return source + target[:-1]
    if objective == "BERT masking":
        return [b if b != "·" else a for a, b in zip(source, target, strict=True)]
    if objective != "span corruption":
        return target[:-1]
    spans, name = {}, None
    for token in target[:-1]:
        if re.fullmatch(r"<\d+>", token):
            name = token
            spans[name] = []
        else:
            spans[name].append(token)
    assert spans.popitem()[1] == []  # the last sentinel
    return [word for token in source for word in spans.get(token, [token])]


def check(objective: str, source: list[str], target: list[str]) -> None:
    """Hold what an objective promises of input and target."""
    words = words_of(TEXT)
    assert restore(objective, source, target) == words
    if objective != "BERT masking":
        assert target[-1] == EOS
    kept = [word for word in source if word != MASK and word[0] != "<"]
    if objective == "causal LM":
        assert source == []
    if objective == "span corruption":
        assert len(words) - len(kept) == round(0.15 * len(words))
    if objective == "BART infilling":
        assert len(words) - len(kept) == round(0.3 * len(words))
    if objective in ("BART permutation", "BART rotation"):
        assert sorted(source) == sorted(words)


@pytest.mark.parametrize("seed", range(5))
def test_figure_begins_with_what_the_objectives_promise(seed):
    data = json.loads(json.dumps(dict(figure(seed=seed).data)))
    assert list(data["views"]) == list(OBJECTIVES)
    for objective, view in data["views"].items():
        check(objective, view["input"], view["target"])
    assert [row[0] for row in figure().rows] == list(OBJECTIVES)


@pytest.mark.parametrize(
    ("changes", "message"),
    [({"objective": "sorting"}, "objective is 'sorting'"), ({"text": "One"}, "text has 1 words")],
)
def test_figure_refuses_what_it_cannot_show(changes, message):
    with pytest.raises(ValueError, match=message):
        figure(**changes)


@pytest.fixture
def page(browser, tmp_path):
    """The figure alone on a page, with the book's scripts and style."""
    assets = ROOT / "book" / "_assets"
    style = f"<link rel=stylesheet href={(assets / 'coursebook.css').as_uri()}>"
    head = f"<title>Objectives</title>{style}"
    for name in ("lm-base.js", "lm-corruption.js"):
        head += f"<script defer src={(assets / name).as_uri()}></script>"
    file = tmp_path / "objectives.html"
    file.write_text(
        f"<!doctype html><html lang=en data-theme=light><meta charset=utf-8>{head}"
        f"<main><h1>Objectives</h1>{figure().to_html()}</main>",
        encoding="utf-8",
    )
    browser.get_log("browser")
    browser.get(file.as_uri())
    return browser


def find(browser, selector):
    return browser.find_elements("css selector", f"lm-corruption {selector}")


def shown(browser) -> list[list[str]]:
    return [
        [item.text for item in part.find_elements("css selector", "li")]
        for part in find(browser, "ol")
    ]


@pytest.mark.slow
@pytest.mark.browser
def test_figure_draws_what_the_objectives_promise(page):
    draws = page.execute_script(
        "const e = document.querySelector('lm-corruption'), out = [];"
        "for (const name of arguments[0]) for (let n = 0; n < 40; n += 1)"
        "  out.push([name, e.corrupt(name, arguments[1])]);"
        "return out;",
        list(OBJECTIVES),
        words_of(TEXT),
    )
    for objective, made in draws:
        check(objective, made["input"], made["target"])
    inputs = {tuple(made["input"]) for objective, made in draws if objective == "span corruption"}
    assert len(inputs) > 5  # drawn anew each time


@pytest.mark.slow
@pytest.mark.browser
def test_figure_follows_the_reader(page):
    status = find(page, ".lm-status")[0]
    assert status.text.startswith("span corruption: ")
    find(page, "input[value='BART deletion']")[0].send_keys(" ")
    assert shown(page)[1] == [*words_of(TEXT), EOS]
    field = find(page, "input[type=text]")[0]
    field.send_keys("\ue009a\ue000", "A dog ran. It's late!")
    assert shown(page)[1] == ["A", "dog", "ran", ".", "It's", "late", "!", EOS]
    find(page, "input[value='causal LM']")[0].send_keys(" ")
    assert shown(page)[0] == ["nothing"]
    field.send_keys("\ue009a\ue000", "Dog")
    assert status.text == "The text has 1 word; it must have from 2 to 200."
    field.send_keys(" runs")
    assert status.text.startswith("causal LM: 0 tokens to read, 3 to write")
    find(page, "button")[0].click()
    assert find(page, "button")[0].accessible_name == "Draw again"


@pytest.mark.slow
@pytest.mark.browser
def test_figure_is_accessible_and_silent(page):
    assert [entry for entry in page.get_log("browser") if entry["level"] != "INFO"] == []
    page.execute_script(AXE)
    found = page.execute_async_script(
        "const done = arguments[0];"
        "axe.run('main').then((result) => done(result.violations.map((v) => v.id)));"
    )
    assert found == []
