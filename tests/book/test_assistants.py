"""The chapter on assistants: its losses against torch's, its records, its figure."""

import json
import math
import re
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F

from course_pkg import load_pretrained, widgets
from course_pkg.evaluation.scoring import answer_log_probs
from course_pkg.results import benchmark
from course_pkg.training.objectives import dpo_loss
from tests.book.solutions import code_cells
from tests.book.test_model_figures import Figure

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "book" / "chapters" / "assistants.md").read_text(encoding="utf-8")
PROMPT = "Tom was hungry, so he ate a"
ANSWERS = ("piece of cake", "soldier", "red ball")


def function_of(name: str, **names) -> object:
    """The function of this name as it stands on the page."""
    names |= {"torch": torch, "F": F}
    (source,) = (
        match[0]
        for cell in code_cells(PAGE)
        for match in re.finditer(rf"^def {name}\(.*?(?=^\S|\Z)", cell, re.MULTILINE | re.DOTALL)
    )
    exec(source, names)
    return names[name]


def test_reply_loss_of_the_page_matches_torch():
    generator = torch.Generator().manual_seed(5)
    logits = torch.randn(3, 8, 11, generator=generator, dtype=torch.float64)
    ids = torch.randint(11, (3, 8), generator=generator)
    n_prompt, n_total = [2, 4, 1], [8, 6, 3]
    targets = torch.full((3, 8), -100)
    for row, (m, n) in enumerate(zip(n_prompt, n_total, strict=True)):
        targets[row, m - 1 : n - 1] = ids[row, m:n]
    expected = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=-100)
    ours = function_of("reply_loss")(logits, ids, n_prompt, n_total)
    torch.testing.assert_close(ours, expected, rtol=0, atol=1e-12)  # float64


def test_dpo_of_the_page_matches_its_formula_and_the_package():
    bradley_terry = function_of("bradley_terry")
    four = torch.randn(4, 5, generator=torch.Generator().manual_seed(1)).double()
    ours = function_of("dpo", bradley_terry=bradley_terry)(*four, beta=0.7)
    pw, pl, rw, rl = four
    expected = -(0.7 * ((pw - rw) - (pl - rl))).sigmoid().log().mean()
    torch.testing.assert_close(ours, expected, rtol=0, atol=1e-12)
    torch.testing.assert_close(ours, dpo_loss(*four, beta=0.7)[0], rtol=0, atol=1e-12)


def test_price_of_best_of_n_is_the_integral():
    u = (torch.arange(400_000, dtype=torch.float64) + 0.5) / 400_000
    for n in (1, 2, 8):
        density = n * u ** (n - 1)
        expected = float((density * density.log()).mean())
        assert function_of("bound", math=math)(n) == pytest.approx(expected, abs=1e-4)


def test_recorded_arms_have_three_seeds_and_rates_of_their_own():
    recorded = benchmark("story_assistant")
    assert {"date", "machine", "versions", "command"} <= recorded.keys()
    assert recorded["seeds"] == [0, 1, 2] and recorded["held_out_pairs_right"] == [1.0] * 3
    arms = [*recorded["offline"].values(), *recorded["demonstrations"].values()]
    arms += [recorded["online"][name] for name in ("beta 0", "beta 0.3")]
    for arm in arms:
        tried = {float(rate): good for rate, good in arm["valid_good_by_rate"].items()}
        assert max(tried, key=tried.__getitem__) == arm["lr"]
        assert len(arm.get("test") or arm.get("ways") or arm["400"]) == 3


def test_figures_of_the_earlier_record_are_quoted_as_they_are():
    record = json.loads(
        (ROOT / "course_pkg/results/benchmarks/assistant.json").read_text(encoding="utf-8")
    )
    nats = record["nats_per_reply_token"]
    stated = {"before": 4.64, "loss on all tokens": 3.03, "loss on replies": 2.87}
    assert {name: round(value, 2) for name, value in nats.items()} == stated
    assert all(f"{value}" in PAGE for value in stated.values())


def chooser(**changes) -> widgets.Widget:
    settings = {"prompt": PROMPT, "answers": ANSWERS, "alt": "Answers."} | changes
    return widgets.answer_chooser(settings.pop("name", "gpt-small"), **settings)


def scores(prompt: str, answers: tuple[str, ...]) -> list[tuple[float, float, int]]:
    trained = load_pretrained("gpt-small")
    encode, eos_id = trained.tokenizer.encode, trained.tokenizer.eos_id
    ids = [encode(f" {answer}") for answer in answers]
    after, alone = (
        answer_log_probs(trained.model, before, ids, eos_id=eos_id).tolist()
        for before in (encode(prompt), [])
    )
    return list(zip(after, alone, map(len, ids), strict=True))


def test_figure_shows_the_packages_scores():
    for row, (after, alone, n) in zip(chooser().rows, scores(PROMPT, ANSWERS), strict=True):
        assert row[1:] == (f"{after:.2f}", f"{after / n:.2f}", f"{after - alone:+.2f}")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": "bert-small"}, "a bert; a gpt goes on"),
        ({"prompt": " "}, "prompt is ' '"),
        ({"answers": ("one",)}, "answers has 1; it must have 2 to 8"),
        ({"answers": ("one", "one ")}, "each must have a word and stand there once"),
        ({"prompt": "dog " * 300}, "the context is 256"),
    ],
)
def test_figure_refuses_what_it_cannot_show(changes, message):
    with pytest.raises(ValueError, match=message):
        chooser(**changes)


@pytest.mark.slow
@pytest.mark.browser
def test_figure_scores_the_readers_answers_as_the_package_does(browser, shipped_site):
    figure = Figure(browser, shipped_site, chooser())
    way = "gain by the prompt"
    figure.press("button")
    figure.wait("f.status.textContent.startsWith('Compared by whole answer')")
    own = ("The king was", ("sad", "very old", "Où est-il?"))
    for place, text in enumerate((own[0], "\n".join(own[1]))):
        browser.execute_script(
            "arguments[0].value = arguments[1]", figure.find("textarea")[place], text
        )
    figure.press("button")
    figure.wait("f.querySelector('.lm-bars').textContent.includes('very old')")
    found = browser.execute_script(
        "return document.querySelector('lm-answers').scores.map((s) => [s.nats, s.prior])"
    )
    for ours, (after, alone, _) in zip(found, scores(*own), strict=True):
        assert ours == pytest.approx([after, alone], abs=0.02)  # the page's weights have 16 bits
    figure.press(f"input[value='{way}']")
    assert figure.text(".lm-status").startswith(f"Compared by {way}, it chooses")
    for place, text, message in (
        (0, " ", "The prompt is empty"),
        (0, "A", ""),
        (1, "one", "There are 1 answers"),
        (1, "one\none", "An answer stands there twice"),
    ):
        browser.execute_script(
            "arguments[0].value = arguments[1]", figure.find("textarea")[place], text
        )
        if message:
            figure.press("button")
            assert figure.text(".lm-status").startswith(message)
    assert figure.complaints() == [] and figure.violations() == []
