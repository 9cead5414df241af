"""The chapter on the transformer: its model against others', its counts, its rows, its figure."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from course_pkg import BERT, GPT, EncoderDecoder, gpt2_small, gpt_tiny, widgets
from course_pkg.layers.plain_attention import PlainAttention
from course_pkg.models.bert import bert_base
from course_pkg.models.gpt import gpt1, llama_like_small
from course_pkg.models.transformer import count_parameters, original_transformer_base
from course_pkg.results import RECORDED, benchmark, chapter_results
from course_pkg.text.stories.grammar import StoryGrammar
from tests.book.solutions import code_cells

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "book" / "chapters" / "transformer.md").read_text(encoding="utf-8")
AXE = (ROOT / "third_party" / "axe-core" / "axe.min.js").read_text(encoding="utf-8")


def gpt_by_hand(*sizes: int) -> nn.Module:
    """The page's own model: the cells that define it, run as they stand."""
    names = {"nn": nn, "F": F, "torch": torch, "PlainAttention": PlainAttention}
    for cell in code_cells(PAGE):
        if re.match(r"\n?class (Block|GPT)ByHand", cell):
            exec(cell, names)
    return names["GPTByHand"](*sizes)


def test_model_of_the_page_matches_transformers():
    transformers = pytest.importorskip("transformers")
    V, T, D, H, L = 37, 16, 24, 3, 2
    torch.manual_seed(5)
    ours = gpt_by_hand(V, T, D, H, L).eval()
    theirs = transformers.GPT2LMHeadModel(
        transformers.GPT2Config(vocab_size=V, n_positions=T, n_embd=D, n_head=H, n_layer=L)
    ).eval()
    with torch.no_grad():
        theirs.transformer.wte.weight.copy_(ours.embedding.weight)
        theirs.transformer.wpe.weight.copy_(ours.positions["table"].weight)
        pairs = [(theirs.transformer.ln_f, ours.stack["final_norm"])]
        for h, block in zip(theirs.transformer.h, ours.stack["blocks"], strict=True):
            parts = [block.attention.query, block.attention.key, block.attention.value]
            h.attn.c_attn.weight.copy_(torch.cat([p.weight for p in parts]).T)
            h.attn.c_attn.bias.copy_(torch.cat([p.bias for p in parts]))
            linear = (
                (h.attn.c_proj, block.attention.output),
                (h.mlp.c_fc, block.feed_forward["expand"]),
                (h.mlp.c_proj, block.feed_forward["contract"]),
            )
            for conv, part in linear:
                conv.weight.copy_(part.weight.T)
                conv.bias.copy_(part.bias)
            pairs += [(h.ln_1, block.norms[0]), (h.ln_2, block.norms[1])]
        for norm, part in pairs:
            norm.load_state_dict(part.state_dict())
        ids = torch.randint(V, (2, T))
        # 1e-4: float32, logits of size 10 from unscaled embeddings
        torch.testing.assert_close(ours(ids), theirs(ids).logits, rtol=1e-5, atol=1e-4)


def test_gradient_of_a_norm_is_the_formula_of_the_page():
    generator = torch.Generator().manual_seed(11)
    x, g = (torch.randn(3, 9, generator=generator, dtype=torch.float64) for _ in range(2))
    x.requires_grad_()
    (by_autograd,) = torch.autograd.grad((F.layer_norm(x, (9,), eps=0.0) * g).sum(), x)
    sigma = x.std(-1, correction=0, keepdim=True)
    x_hat = (x - x.mean(-1, keepdim=True)) / sigma
    along = (g * x_hat).mean(-1, keepdim=True) * x_hat
    by_hand = (g - g.mean(-1, keepdim=True) - along) / sigma
    torch.testing.assert_close(by_autograd, by_hand, rtol=0, atol=1e-12)  # float64


def test_scores_of_normalised_queries_and_keys_are_at_most_the_root_of_their_width():
    K = 16
    generator = torch.Generator().manual_seed(2)
    q, k = (50 * torch.randn(200, K, generator=generator) for _ in range(2))
    q, k = (F.rms_norm(x, (K,)) for x in (q, k))
    scores = torch.cat([(q @ k.T).flatten(), (q * q).sum(-1)]) / K**0.5
    assert scores.abs().max() == pytest.approx(K**0.5, rel=1e-4)  # where query and key agree


def test_worked_counts_are_right():
    D, L, V = 768, 12, 50_257
    attention, forward, norms = 4 * D**2 + 4 * D, 8 * D**2 + 5 * D, 4 * D
    block = attention + forward + norms
    assert block == 12 * D**2 + 13 * D
    tables = (V + 1024) * D
    worked = (attention, forward, norms, block, L * block, tables, 2 * D)
    total = L * block + tables + 2 * D
    rows = re.findall(r"^\| .*\| \**([\d,]+)\** \|$", PAGE, re.MULTILINE)
    assert [int(n.replace(",", "")) for n in rows] == [*worked, total]
    with torch.device("meta"):
        assert count_parameters(GPT(gpt2_small())) == total
        llama = replace(
            llama_like_small(32_000, 2048),
            d_model=4096,
            n_heads=32,
            n_layers=32,
            d_ff=11008,
            n_kv_heads=None,
        )
        assert count_parameters(GPT(llama)) == 6_738_415_616  # as published and in the solution
    assert "6{,}738{,}415{,}616" in PAGE


@pytest.mark.parametrize("corpus", ["wikipedia", "tales"])
def test_recorded_rows_are_those_of_the_benchmark(corpus):
    measured = benchmark(f"transformer_{corpus}")["rows"]
    rows = {r.model: r for r in chapter_results("transformer") if r.corpus == corpus}
    assert {"Transformer", "Transformer and 5-gram"} <= rows.keys()
    for name, row in rows.items():
        assert row.source == RECORDED
        assert row.perplexity == measured[name]["test_perplexity"]
        assert row.bits_per_byte == measured[name]["bits_per_byte"]


def test_rows_on_stories_stand_as_the_page_says():
    (on_stories,) = (r for r in chapter_results("transformer") if r.corpus == "stories")
    for chapter in ("recurrent", "self_attention", "positions"):
        for row in chapter_results(chapter):
            if row.corpus == "stories":
                assert on_stories.perplexity < row.perplexity
    assert on_stories.perplexity > StoryGrammar().floor_perplexity()


@pytest.mark.parametrize("name", ["arms", "stories"])
def test_recorded_arms_are_tuned_and_have_three_seeds(name):
    recorded = benchmark(f"transformer_{name}")
    assert {"date", "machine", "versions", "command", "cpu_seconds"} <= recorded.keys()
    for arm in recorded["arms"].values():
        assert len(arm["test_nats"]) == len(arm["curves"]) == len(recorded["seeds"]) == 3
        tried = {float(rate): nats for rate, nats in arm["valid_nats_by_rate"].items()}
        assert min(tried, key=tried.__getitem__) == arm["lr"]
        assert min(tried) < arm["lr"] < max(tried)  # a rate on both sides was tried


def figure() -> widgets.Widget:
    with torch.device("meta"):
        models = {
            "original": EncoderDecoder(original_transformer_base()),
            "GPT-1": GPT(gpt1()),
            "GPT-2": GPT(gpt2_small()),
            "BERT": BERT(bert_base(), has_heads=False),
            "LLaMA's": GPT(llama_like_small()),
        }
    return widgets.transformer_sizes(models, selected="GPT-2", alt="A transformer to open.")


@pytest.mark.parametrize(
    ("config", "selected", "message"),
    [
        (gpt_tiny(11), "other", "selected is 'other'"),
        (replace(gpt_tiny(11), block="parallel"), "tiny", "'tiny' has block 'parallel'"),
        (replace(gpt_tiny(11), has_qk_norm=True), "tiny", "query norms"),
    ],
)
def test_figure_refuses_what_it_cannot_show(config, selected, message):
    with pytest.raises(ValueError, match=message):
        widgets.transformer_sizes({"tiny": GPT(config)}, selected=selected, alt="-")


@pytest.fixture
def page(browser, tmp_path):
    """The figure alone on a page, with the book's scripts and style."""
    assets = ROOT / "book" / "_assets"
    head = f"<title>Sizes</title><link rel=stylesheet href={(assets / 'coursebook.css').as_uri()}>"
    for name in ("lm-base.js", "lm-transformer.js"):
        head += f"<script defer src={(assets / name).as_uri()}></script>"
    file = tmp_path / "sizes.html"
    file.write_text(
        f"<!doctype html><html lang=en data-theme=light><meta charset=utf-8>{head}"
        f"<main><h1>Sizes</h1>{figure().to_html()}</main>",
        encoding="utf-8",
    )
    browser.get_log("browser")
    browser.get(file.as_uri())
    return browser


def find(browser, selector):
    return browser.find_elements("css selector", f"lm-transformer {selector}")


def status(browser) -> str:
    return find(browser, ".lm-status")[0].text


def enter(browser, field: int, text: str) -> None:
    """Type a number into a field, as a reader does."""
    box = find(browser, "input")[field]
    box.send_keys("\ue009a\ue000", text or "\ue003")  # select all; type, or delete


@pytest.mark.slow
@pytest.mark.browser
def test_figure_counts_what_the_models_have(page):
    for name, preset in figure().data["presets"].items():
        count = page.execute_script(
            "const e = document.querySelector('lm-transformer');"
            "e.choose(arguments[0]); return e.count()",
            name,
        )
        assert count == preset["n_parameters"], name


@pytest.mark.slow
@pytest.mark.browser
def test_figure_counts_the_readers_own_sizes(page):
    for field, size in enumerate((96, 6, 3, 200, 1000, 64)):
        enter(page, field, str(size))
    own = replace(gpt_tiny(1000, 64), d_model=96, n_heads=6, n_layers=3, d_ff=200, vocab_size=1000)
    with torch.device("meta"):
        n = count_parameters(GPT(own))
    assert status(page).startswith(f"{n:,} parameters")


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.parametrize(
    ("field", "text", "message"),
    [
        (1, "7", "d_model is 768; it must be a multiple of the number of heads, 7."),
        (2, "0", "n_layers is 0; it must be a whole number from 1 to 1,000."),
        (2, "1.5", "n_layers is 1.5; it must be a whole number"),
        (4, "", "vocab_size is empty; it must be a whole number"),
    ],
)
def test_figure_says_what_is_wrong_and_recovers(page, field, text, message):
    enter(page, field, text)
    assert status(page).startswith(message)
    enter(page, field, "12")
    assert "parameters" in status(page)


@pytest.mark.slow
@pytest.mark.browser
def test_figure_opens_by_the_keyboard_and_stays_open_when_sizes_change(page):
    summary = find(page, "summary")[0]
    summary.send_keys("\ue007")  # enter
    assert find(page, "details.lm-layer")[0].get_attribute("open")
    enter(page, 2, "3")
    opened = find(page, "details.lm-layer")[0]
    assert opened.get_attribute("open")
    assert "3 × 7,087,872" in opened.text
    assert find(page, "input")[0].accessible_name == "width d_model"


@pytest.mark.slow
@pytest.mark.browser
def test_figure_is_accessible_and_silent(page):
    for _ in range(2):  # blocks, then what is in them
        for summary in find(page, ".lm-layers summary"):
            if not summary.find_element("xpath", "..").get_attribute("open"):
                summary.click()
    assert [entry for entry in page.get_log("browser") if entry["level"] != "INFO"] == []
    page.execute_script(AXE)
    found = page.execute_async_script(
        "const done = arguments[0];"
        "axe.run('lm-transformer').then((r) => done(r.violations.map((v) => v.id)));"
    )
    assert found == []
