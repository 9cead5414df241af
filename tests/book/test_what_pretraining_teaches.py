"""The chapter on what pretraining teaches: its probe, its pairs, its test, its records."""

import itertools
import math
import re
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from scipy.stats import permutation_test

from course_pkg import load_pretrained
from course_pkg.results import benchmark
from tests.book.solutions import code_cells

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "book" / "chapters" / "what_pretraining_teaches.md").read_text(encoding="utf-8")


def names_of(name: str, **names) -> dict:
    """What the functions up to this one define, of the page's cell that has it."""
    (cell,) = (cell for cell in code_cells(PAGE) if f"def {name}(" in cell)
    cell = cell[cell.index("def ") :]
    end = cell.find("\n\n\n", cell.index(f"def {name}("))
    exec(cell if end < 0 else cell[:end], names)
    return names


def test_probe_of_the_page_reaches_a_minimum_of_its_loss():
    fit = names_of("fit_by_hand", torch=torch, F=F)["fit_by_hand"]
    generator = torch.Generator().manual_seed(3)
    vectors = 5 + 2 * torch.randn(41, 7, generator=generator)
    labels = torch.randint(3, (41,), generator=generator)
    weight = fit(vectors, labels, 3, decay=0.3)
    x = vectors.double()
    x = (x - x.mean(0)) / x.std(unbiased=False)
    free = weight.requires_grad_()
    loss = F.cross_entropy(x @ free[:, :-1].T + free[:, -1], labels)
    (loss + 0.15 * free[:, :-1].square().sum()).backward()
    assert weight.grad.abs().max() < 1e-8  # the loss is convex: this is the minimum


def test_twins_cancel_how_frequent_the_answers_are():
    at_gap = names_of("at_gap", torch=torch)["at_gap"]
    turned = names_of("turned", at_gap=at_gap)["turned"]
    for name in ("gpt-small", "bert-small"):
        trained = load_pretrained(name)
        text, twin = "The woman lost ___ hat.", "The man lost ___ hat."
        found = turned(trained, text, twin, "her", "his")
        assert found == pytest.approx(turned(trained, twin, text, "his", "her"))
        assert turned(trained, text, text, "her", "his") == pytest.approx(0, abs=1e-6)  # float32
        assert at_gap(trained, text).exp().sum() == pytest.approx(1, abs=1e-5)  # float32


@pytest.mark.parametrize("gap", [1.4, 0.0, -0.3])
def test_exact_test_matches_scipy(gap):
    p_value = names_of("p_value", np=np, combinations=itertools.combinations)["p_value"]
    draw = np.random.default_rng(0)
    women, men = draw.normal(gap, 1, 6), draw.normal(0, 1, 6)
    known = permutation_test(
        (women, men), lambda a, b: a.mean() - b.mean(), alternative="greater", n_resamples=np.inf
    )
    assert p_value(women, men) == pytest.approx(known.pvalue)
    assert p_value([3, 4], [1, 2]) == pytest.approx(1 / math.comb(4, 2))


def test_best_of_heads_that_follow_nothing_is_at_chance_elsewhere():
    numbered = [(i, (i + k) % 12) for i in range(12) for k in range(3)]
    choose = names_of("choose_and_report", np=np, numbered=numbered)["choose_and_report"]
    generator = torch.Generator().manual_seed(0)
    blind = torch.randint(9, (36, 4, 4), generator=generator) / 8
    where, elsewhere = choose(blind)
    assert where > 0.58 and abs(elsewhere - 0.5) < 0.06
    knows = blind.clone()
    knows[:, 2, 1] = 1
    assert choose(knows).tolist() == [1, 1]


def test_a_head_is_right_where_the_pronoun_moves_it_to_its_name():
    """A model whose third head looks at Tom for *he*, at Anna for *she*, and at both otherwise."""
    gpt = load_pretrained("gpt-small")
    code = {w: gpt.tokenizer.encode(f" {w}")[0] for w in ("she", "he", "Anna", "Tom")}

    class Looking:
        def encode(self, ids, trace):
            n, length = ids.shape
            weights = torch.full((n, 4, length, length), 0.1)
            for row, words in enumerate(ids.tolist()):
                pronoun = "she" if code["she"] in words else "he"
                meant = words.index(code["Anna" if pronoun == "she" else "Tom"])
                weights[row, 2, words.index(code[pronoun]), meant] = 0.6
            trace.attention = [weights]

    from course_pkg.layers.blocks import Trace

    names = {"torch": torch, "Trace": Trace, "PAIRS": [("Anna", "Tom")]}
    frames = ("One day, {} met {} because {} was lonely.", "One day, {} saw {} before {} left.")
    framed = names_of("framed")["framed"]
    follows = names_of("follows", **names, FRAMES=frames, framed=framed)["follows"]
    shares = follows(gpt, Looking())
    assert shares.shape == (1, 1, 4) and shares[0, 0].tolist() == [0, 0, 1, 0]


def test_record_has_every_task_with_three_seeds_and_controls():
    recorded = benchmark("probing")
    assert {"date", "machine", "versions", "command"} <= recorded.keys()
    assert len(recorded["settings"]["seeds"]) == 3
    tasks = {re.search(r": (.*), seed", key)[1] for key in recorded["runs"]}
    for skill in (
        "facts",
        "syntax",
        "coreference",
        "topic",
        "sentiment",
        "reasoning",
        "arithmetic",
    ):
        assert skill in tasks
        for net in ("gpt-small", "bert-small", "gpt-small, new weights", "bert-small, new weights"):
            run = recorded["runs"][f"{net}: {skill}, seed 2"]
            assert len(run["accuracy"]) == len(run["control"]) == 5


def test_gaps_of_the_lectures_stand_in_the_page():
    for gap in (
        "Stanford University is located in ___, California",
        "I put ___ fork down on the table",
        "checking for traffic over ___ shoulder",
        "to see the fish, turtles, seals, and ___",
        "The movie was ___",
        "Zuko left the ___",
        "1, 1, 2, 3, 5, 8, 13, 21, ___",
    ):
        assert gap in PAGE
