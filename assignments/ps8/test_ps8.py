"""What is special to problem set 8: its inputs, its examples, and what its notebook shows."""

import math

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from course_pkg.models.adaptation import LoRALinear
from course_pkg.text.batches.formatting import TaskFormat
from course_pkg.text.stories.tasks import Reviews
from tests.assignments.notebooks import arguments, parts_lost, run_whole

from .challenge import draw_reviews, vectors_of
from .class_scores import class_scores, draw_padding, drawing
from .dpo_loss import dpo_loss, draw_extremes, draw_ties
from .dpo_loss import draw_values as draw_margins
from .frame_pairs import draw_cut, draw_even, draw_whole, frame_pairs
from .freeze import ALIKE, PLAIN, TIED, freeze
from .lora_layer import draw_values as draw_layers
from .lora_layer import lora_layer
from .merge_lora import draw_half, draw_several, merge_lora
from .problem_set import PROBLEM_SET
from .reply_targets import draw_ends, reply_targets
from .score_replies import draw_hostile, draw_uneven, score_replies

CHECKS = {check.item: check for check in PROBLEM_SET.checks}


# -- the checks ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("item", "slip", "lost"),
    [
        (
            "frame_pairs",
            "Of equally long texts the premise loses a token.",
            {"both are cut", "edges", "the same list"},
        ),
        ("frame_pairs", "Lengths count what is not the padding's id.", {"edges"}),
        ("class_scores", "Other names are taken for the mean.", {"other names"}),
        ("class_scores", "Padding is multiplied by 0.", {"padding", "gradients beside padding"}),
        (
            "freeze",
            "Only the first name of a tied parameter is known.",
            {"tied parameters", "what is returned"},
        ),
        ("freeze", "Old gradients stay.", {"old gradients"}),
        ("freeze", "Everything is frozen before the names are looked up.", {"unknown names"}),
        ("lora_layer", "A new matrix as large as the frozen one is made.", {"sizes"}),
        ("lora_layer", "The bias gets a gradient.", {"frozen"}),
        ("merge_lora", "The sum is rounded after each adapter.", {"half precision"}),
        ("merge_lora", "The result carries a graph.", {"no graph"}),
        ("reply_targets", "Targets are int32.", {"dtype", "edges"}),
        (
            "score_replies",
            "Other positions are left out after the softmax.",
            {"gradients beside other positions", "gradients of nothing"},
        ),
        ("dpo_loss", "A margin of 0 has no gradient.", {"gradients"}),
        ("dpo_loss", "A margin of 0 is won.", {"margins of 0"}),
    ],
)
def test_slip_costs_what_depends_on_it(item, slip, lost):
    answer = CHECKS[f"ps8_{item}"].mistake(slip).implementation
    assert set(parts_lost(CHECKS[f"ps8_{item}"], answer)) == lost


# -- the reference versions, against others --------------------------------------------------------


def test_rows_are_those_of_the_packages_format_where_it_allows_the_ids():
    for pairs, start, delim, extract, pad, longest in arguments(draw_cut) + arguments(draw_whole):
        rows, lengths = frame_pairs(pairs, start, delim, extract, pad, longest)
        frame = TaskFormat(start, delim, extract, longest)
        for row, length, (premise, hypothesis) in zip(rows, lengths, pairs, strict=True):
            assert row[:length].tolist() == frame.pair(premise, hypothesis)
            assert (row[length:] == pad).all()


def test_no_row_is_longer_or_shorter_than_it_must_be():
    for draw in (draw_whole, draw_cut, draw_even):
        for pairs, *_, longest in arguments(draw):
            whole = [len(premise) + len(hypothesis) + 3 for premise, hypothesis in pairs]
            right = [min(length, longest) for length in whole]
            assert frame_pairs(pairs, 1, 2, 3, 0, longest)[1].tolist() == right


@pytest.mark.parametrize("pooling", ["first", "last", "mean"])
def test_scores_are_those_of_the_texts_alone(pooling):
    pool = {"first": lambda t: t[0], "last": lambda t: t[-1], "mean": lambda t: t.mean(dim=0)}
    cases = [case for case in arguments(draw_padding) if case[2] == pooling]
    for vectors, lengths, _, weight, bias in [*arguments(drawing(pooling)), *cases]:
        texts = [row[:length] for row, length in zip(vectors, lengths, strict=True)]
        right = F.linear(torch.stack([pool[pooling](text) for text in texts]), weight, bias)
        torch.testing.assert_close(class_scores(vectors, lengths, pooling, weight, bias), right)


def test_frozen_parameters_stay_and_others_move_in_a_step():
    model = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1))
    before = [parameter.detach().clone() for parameter in model.parameters()]
    optimizer = torch.optim.AdamW(freeze(model, ["1"]), lr=0.1)
    model(torch.ones(4, 2)).sum().backward()
    optimizer.step()
    moved = [not torch.equal(p, old) for p, old in zip(model.parameters(), before, strict=True)]
    assert moved == [False, False, True, True]


def test_models_to_be_frozen_have_what_their_names_promise():
    assert {kind for _, kind, _ in TIED} >= {"same", "buffer"}
    assert {path.partition(".")[0] for path, _, _ in ALIKE} >= {"head", "head_of_old", "my"}
    assert [kind for _, kind, _ in PLAIN].count("dropout") == 1


def test_thin_layer_is_the_packages_and_the_merged_one():
    for x, weight, bias, down, up, alpha in arguments(draw_layers):
        scale = alpha / len(down)
        right = F.linear(x, weight + scale * up @ down, bias)
        tolerance = {"rtol": 1e-4, "atol": 1e-4} if x.dtype == torch.float32 else {}
        found = lora_layer(x, weight, bias, down, up, alpha)
        torch.testing.assert_close(found, right, **tolerance)
        merged = merge_lora(weight, [(down, up, alpha)])
        torch.testing.assert_close(F.linear(x, merged, bias), found, **tolerance)
    layer = LoRALinear(nn.Linear(3, 2), rank=2, alpha=6.0)
    nn.init.normal_(layer.up, generator=torch.Generator().manual_seed(1))
    frozen = layer.linear.weight, layer.linear.bias
    mine = lora_layer(torch.ones(3), *frozen, layer.down, layer.up, 6.0)
    torch.testing.assert_close(mine, layer(torch.ones(3)))


def test_merging_order_plays_no_part_and_each_small_change_alone_is_lost():
    for weight, adapters in arguments(draw_several):
        turned = merge_lora(weight, adapters[::-1])
        torch.testing.assert_close(merge_lora(weight, adapters), turned, rtol=1e-5, atol=1e-5)
    for weight, adapters in arguments(draw_half)[:4]:
        assert not torch.equal(merge_lora(weight, adapters), weight)
        assert all(torch.equal(merge_lora(weight, [adapter]), weight) for adapter in adapters)


def test_targets_are_the_replies_ids_one_place_to_the_left():
    for ids, prompt_lengths, lengths in arguments(draw_ends):
        targets = reply_targets(ids, prompt_lengths, lengths)
        for row, wanted, p, n in zip(ids, targets, prompt_lengths, lengths, strict=True):
            assert wanted[p - 1 : n - 1].tolist() == row[p:n].tolist()
            assert (wanted != -100).sum() == n - p


def test_log_probabilities_and_loss_are_those_of_torch():
    for logits, targets in arguments(draw_uneven) + arguments(draw_hostile):
        log_probs, loss = score_replies(logits, targets)
        chosen = targets != -100
        right = F.cross_entropy(logits[chosen], targets[chosen])
        torch.testing.assert_close(loss, right)
        for row, wanted, found in zip(logits, targets, log_probs, strict=True):
            has = wanted != -100
            per_row = -F.cross_entropy(row[has], wanted[has], reduction="sum")
            torch.testing.assert_close(found, per_row)


def test_preference_loss_is_that_of_a_binary_choice():
    for *numbers, beta in arguments(draw_margins) + arguments(draw_extremes):
        policy, reference = numbers[0] - numbers[1], numbers[2] - numbers[3]
        margins = beta * (policy - reference)
        right = F.binary_cross_entropy_with_logits(margins, torch.ones_like(margins))
        loss, won = dpo_loss(*numbers, beta)
        torch.testing.assert_close(loss, right)
        assert won.tolist() == (margins > 0).tolist()


def test_margins_are_exactly_0_where_they_are_to_be():
    for *numbers, beta in arguments(draw_ties):
        loss, won = dpo_loss(*numbers, beta)
        margins = (numbers[0] - numbers[2]) - (numbers[1] - numbers[3])
        assert (margins == 0).any() and not won[margins == 0].any()
        if (margins == 0).all():
            assert loss.item() == pytest.approx(math.log(2), rel=1e-6)


# -- the notebook ----------------------------------------------------------------------------------


def test_table_of_all_reviews_made_at_home_says_nothing_about_the_challenge():
    labels = {review.text: review.label for p, review in Reviews(noise=0).outcomes() if p > 0}
    texts, right = list(labels), np.array(list(labels.values()))
    known = np.linalg.norm(vectors_of(texts), axis=2)

    def share_found(vectors, labels):
        lengths = np.linalg.norm(vectors, axis=2)
        nearest = [int(((row - known) ** 2).sum(axis=1).argmin()) for row in lengths]
        return np.mean(right[nearest] == labels)

    assert len(texts) == 1536  # few enough for a cell
    assert share_found(vectors_of(texts[::3]), right[::3]) == 1.0  # unmapped, or only turned
    inputs, withheld = draw_reviews(1)
    assert share_found(inputs["unseen"], withheld) < 0.58


@pytest.mark.parametrize(
    ("item", "mistake", "message"),
    [
        ("frame_pairs", "The finished row is cut at its end.", r"\[EXTRACT\] must stay"),
        ("frame_pairs", "All rows are as long as is allowed.", "T is the longest row"),
        ("frame_pairs", "The caller's texts are shortened.", "shortens the caller's texts"),
        (
            "class_scores",
            "The last vector is that of the last position, padding or not.",
            "that is the vector at padding",
        ),
        ("class_scores", "Padding is multiplied by 0.", "nan or inf at padding"),
        ("freeze", "Only the first name of a tied parameter is known.", "tied weight"),
        ("freeze", "Old gradients stay.", "becomes None"),
        (
            "freeze",
            "Everything is frozen before the names are looked up.",
            "before anything is changed",
        ),
        ("lora_layer", "The scale is alpha.", "divided by the rank"),
        ("lora_layer", "The bias gets a gradient.", "weight and bias are frozen"),
        ("merge_lora", "The sum is rounded after each adapter.", "rounded after each adapter"),
        (
            "merge_lora",
            "The caller's matrix is changed where it needs no conversion.",
            "writes into the caller's weight",
        ),
        ("reply_targets", "The mask is not shifted with the ids.", "first id of the reply"),
        ("reply_targets", "What has the padding's id is no target.", "ends the reply is a target"),
        ("score_replies", "The loss is the mean of the rows' means.", "each token counts the same"),
        ("score_replies", "Without targets the loss is nan.", "without any target"),
        ("dpo_loss", "A margin of 0 is won.", "a margin of 0 is not won"),
        ("dpo_loss", "The sigmoid is taken first, and then its logarithm.", "their mean"),
    ],
)
def test_visible_tests_name_what_is_wrong(visible_tests, item, mistake, message):
    check = CHECKS[f"ps8_{item}"]
    with pytest.raises(AssertionError, match=message):
        visible_tests(check, check.mistake(mistake).implementation)


@pytest.mark.parametrize("item", CHECKS)
def test_visible_tests_reject_no_right_answer(visible_tests, right_answers, item):
    for answer in right_answers(CHECKS[item]):
        visible_tests(CHECKS[item], answer)


@pytest.mark.exhaustive
def test_solution_notebook_runs_whole_and_agrees_with_the_package(release):
    printed, n_pictures = run_whole(release.solution)
    assert "scores after merging differ" in printed and "at most: yes" in printed
    assert "the targets are the package's: True" in printed
    (first,) = (line for line in printed.splitlines() if "one batch before training" in line)
    yours, packages = (float(part.split()[-1]) for part in first.split(","))
    assert yours == pytest.approx(packages, abs=2e-5)  # float32, in another order
    (start,) = (line for line in printed.splitlines() if "before the first step" in line)
    assert "the loss is 0.6931" in start
    (whole,) = (line for line in printed.splitlines() if line.startswith("whole sentences"))
    before, after = (float(part.strip().split("%")[0].split()[-1]) for part in whole.split(","))
    assert after > before + 20
    assert n_pictures == 2
