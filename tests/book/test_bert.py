"""The chapter on BERT: its model against others', its counts, its records, its figure."""

import math
import re
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F

from course_pkg import BERT, IGNORE, StoryGrammar, widgets
from course_pkg.models.bert import bert_base, bert_large, bert_tiny
from course_pkg.models.transformer import count_parameters
from course_pkg.results import benchmark
from course_pkg.widgets.masking import MOST_WORDS, WORD
from tests.book.conftest import open_figure
from tests.book.solutions import code_cells

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "book" / "chapters" / "bert.md").read_text(encoding="utf-8")
ASSETS = ROOT / "book" / "_assets"
AXE = (ROOT / "third_party" / "axe-core" / "axe.min.js").read_text(encoding="utf-8")
SENTENCE = "Tom took the red kite home from the park, and in the evening he felt happy."
POOL = ("dog", "blue", "ran")


def names_of(start: str) -> dict:
    """What the page's cell that begins like this defines, run as it stands."""
    (cell,) = (cell for cell in code_cells(PAGE) if cell.lstrip().startswith(start))
    names = {"F": F, "torch": torch, "IGNORE": IGNORE}
    exec(cell[: cell.find("\n\n\ntiny")] if "\n\n\ntiny" in cell else cell, names)
    return names


def test_forward_pass_of_the_page_matches_transformers():
    transformers = pytest.importorskip("transformers")
    V, T, D, H, L = 43, 24, 64, 4, 2
    ours = BERT(bert_tiny(V, T), generator=torch.Generator().manual_seed(3)).eval()
    theirs = transformers.BertForPreTraining(
        transformers.BertConfig(
            vocab_size=V, hidden_size=D, num_hidden_layers=L, num_attention_heads=H,
            intermediate_size=4 * D, max_position_embeddings=T,
        )
    ).eval()  # fmt: skip
    from course_pkg.weights.pretrained import bert_weights

    ours.load_state_dict(bert_weights(theirs.state_dict()))
    generator = torch.Generator().manual_seed(4)
    ids, segments = torch.randint(V, (2, 11), generator=generator), torch.zeros(2, 11).long()
    segments[:, 6:] = 1
    with torch.no_grad():
        vectors, logits = names_of("def bert_by_hand")["bert_by_hand"](ours, ids, segments)
        known = theirs(ids, token_type_ids=segments, output_hidden_states=True)
    # 1e-5: float32, two blocks
    torch.testing.assert_close(vectors, known.hidden_states[-1], rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(logits, known.prediction_logits, rtol=1e-5, atol=1e-5)


def test_loss_of_the_page_matches_torch_and_the_worked_example():
    loss = names_of("def masked_lm_loss")["masked_lm_loss"]
    generator = torch.Generator().manual_seed(5)
    logits = torch.randn(3, 7, 13, generator=generator, dtype=torch.float64)
    targets = torch.randint(13, (3, 7), generator=generator)
    targets[torch.rand(3, 7, generator=generator) < 0.7] = IGNORE
    known = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=IGNORE)
    torch.testing.assert_close(loss(logits, targets), known, rtol=0, atol=1e-12)  # float64
    probs = torch.tensor([0.9, 0.5, 0.8, 0.125, 0.9], dtype=torch.float64)
    two_tokens = torch.stack([probs, 1 - probs], dim=-1).log()[None]
    asked = torch.tensor([[IGNORE, 0, IGNORE, 0, IGNORE]])
    assert round(loss(two_tokens, asked).item(), 2) == 1.39
    nats = [round(-math.log(p), 3) for p in probs.tolist()]
    assert nats == [0.105, 0.693, 0.223, 2.079, 0.105] and round(sum(nats) / 5, 2) == 0.64


def test_worked_shares_are_right():
    assert round(509 * 0.15 * 0.8) == 61 and round(509 * 0.15 * 0.1, 1) == 7.6
    assert round(0.15 * 0.9, 3) == 0.135 and round(0.15 * 0.1, 3) == 0.015
    assert f"{0.015 / 30_522:.0e}" == "5e-07"
    assert round(math.sqrt(24 / 4), 1) == 2.4


def test_sizes_are_those_published():
    with torch.device("meta"):
        counts = [count_parameters(BERT(c(), has_heads=False)) for c in (bert_base, bert_large)]
    assert counts == [109_482_240, 335_141_888]
    assert all(f"{count:,}" in PAGE for count in counts)


def test_recorded_arms_are_tuned_and_have_three_seeds():
    recorded = benchmark("encoder_family")
    assert {"date", "machine", "versions", "command"} <= recorded.keys()
    shown = set(re.findall(r'"([^"]+)": "', PAGE)) & recorded["arms"].keys()
    assert {"BERT", "ELECTRA", "NSP"} <= shown
    for name, arm in recorded["arms"].items():
        assert len(arm["wrong"]) == len(recorded["seeds"]) == 3
        if name != "untrained":
            tried = {float(rate): loss for rate, loss in arm["valid_loss_by_rate"].items()}
            assert min(tried, key=tried.__getitem__) == arm["lr"]
            assert min(tried) < arm["lr"] < max(tried)  # a rate on both sides was tried


def test_posterior_of_the_page_sums_to_one_and_knows_what_is_certain():
    grammar = StoryGrammar()
    names = {"grammar": grammar, "torch": torch, "vocabulary": grammar.vocabulary()}
    (cell,) = (c for c in code_cells(PAGE) if "def surprise" in c)
    exec(cell[cell.index("def surprise") : cell.index("\n\n\nleast")], names)
    story = grammar.sample(1, seed=4)[0]
    place = next(n for n, word in enumerate(story.words) if word == "the")
    by_hand = names["surprise"](story, place)
    whole = [
        math.exp(sum(grammar.log_probs([*story.words[:place], word, *story.words[place + 1 :]])))
        for word in grammar.vocabulary()
    ]
    true = math.exp(sum(grammar.log_probs(story.words)))
    assert by_hand == pytest.approx(-math.log(true / sum(whole)), abs=1e-9)


def figure(**changes) -> widgets.Widget:
    settings = {"text": SENTENCE, "pool": POOL, "seed": 0, "alt": "Masks for a sentence."} | changes
    return widgets.masking_rule(settings.pop("text"), **settings)


def test_figure_shows_a_draw_of_the_packages_own_rule():
    shares = torch.zeros(3)
    n_asked = 0
    for seed in range(400):
        for word, seen, asked in figure(seed=seed).rows:
            assert asked in (word, "–") and (asked == word or seen == word)
            if asked != "–":
                n_asked += 1
                shares[0 if seen == "[MASK]" else 2 if seen == word else 1] += 1
    n = 400 * len(re.findall(WORD, SENTENCE))
    # five deviations of a binomial; a random word may be the word itself
    assert abs(n_asked / n - 0.15) < 5 * (0.15 * 0.85 / n) ** 0.5
    for share, rule in zip((shares / n_asked).tolist(), (0.8, 0.1, 0.1), strict=True):
        assert abs(share - rule) < 5 * (rule * (1 - rule) / n_asked) ** 0.5 + 0.02


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"text": " "}, "text has 0 words"),
        ({"text": "a " * (MOST_WORDS + 1)}, f"text has {MOST_WORDS + 1} words"),
        ({"pool": ()}, "pool is empty"),
        ({"rate": 0.2}, "rate is 0.2"),
    ],
)
def test_figure_refuses_what_it_cannot_show(changes, message):
    with pytest.raises(ValueError, match=message):
        figure(**changes)


@pytest.fixture
def page(browser, tmp_path):
    """The figure alone on a page, with the book's scripts and style."""
    for name in ("lm-base.js", "lm-engine.js", "lm-masking.js", "coursebook.css"):
        (tmp_path / name).write_bytes((ASSETS / name).read_bytes())
    open_figure(browser, tmp_path, figure().to_html(), "lm-masking.js")
    return browser


def find(browser, selector):
    return browser.find_elements("css selector", f"lm-masking {selector}")


def status(browser) -> str:
    return find(browser, ".lm-status")[0].text


def counts(browser) -> list[int]:
    """Of all draws: asked with [MASK], another word, the word itself; asked in all."""
    cells = find(browser, "table.lm-drawn tbody td:nth-child(2)")
    return [int(cell.text.replace(",", "")) for cell in cells]


@pytest.mark.slow
@pytest.mark.browser
def test_page_begins_with_the_draw_of_python(page):
    asked = [row[0] for row in figure().rows if row[2] != "–"]
    assert status(page).startswith(f"Draw 1 asks for {', '.join(asked)};")
    shown = [word.text for word in find(page, ".lm-masked .lm-seen")]
    assert shown == [row[1] for row in figure().rows]


@pytest.mark.slow
@pytest.mark.browser
def test_shares_settle_at_the_rule(page):
    find(page, "button")[1].click()
    *kinds, n_asked = counts(page)
    n = 1001 * len(re.findall(WORD, SENTENCE))
    assert sum(kinds) == n_asked
    # eight deviations of a binomial: draws of the page are not seeded
    assert abs(n_asked / n - 0.15) < 8 * (0.15 * 0.85 / n) ** 0.5
    for kind, rule in zip(kinds, (0.8, 0.1, 0.1), strict=True):
        assert abs(kind / n_asked - rule) < 8 * (rule * (1 - rule) / n_asked) ** 0.5


@pytest.mark.slow
@pytest.mark.browser
def test_page_draws_for_the_readers_own_sentence_and_rule(page):
    find(page, "input[value='[MASK] always']")[0].send_keys(" ")
    find(page, "input[value='40 %']")[0].send_keys(" ")
    field = find(page, "input[type=text]")[0]
    field.send_keys("\ue009a\ue000\ue003")  # select all, delete
    assert status(page) == "The sentence is empty: type at least one word."
    field.send_keys("Où est l’éléphant_bleu ?")
    find(page, "button")[1].click()
    words = [word.text for word in find(page, ".lm-masked li")]
    assert len(words) == len(re.findall(WORD, "Où est l’éléphant_bleu ?")) == 5
    masked, other, kept, n_asked = counts(page)
    assert masked == n_asked > 0 == other == kept
    field.send_keys(" word" * MOST_WORDS)
    assert status(page) == f"The sentence has {MOST_WORDS + 5} words; the figure has room for 40."


@pytest.mark.slow
@pytest.mark.browser
def test_figure_is_accessible_silent_and_fits_a_phone(page):
    assert [entry for entry in page.get_log("browser") if entry["level"] != "INFO"] == []
    page.execute_script(AXE)
    found = page.execute_async_script(
        "const done = arguments[0];"
        "axe.run('lm-masking').then((r) => done(r.violations.map((v) => v.id)));"
    )
    assert found == []
