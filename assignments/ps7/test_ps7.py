"""What is special to problem set 7: its inputs, its examples, and what its notebook shows."""

import math

import pytest
import torch
from torch.nn import functional as F

from course_pkg.text.batches.masking import mask_tokens
from tests.assignments.notebooks import arguments, parts_lost, run_cells, run_whole

from . import mask_batch as masking
from .choose_positions import choose_positions
from .corrupt import corrupt
from .embed import draw_offsets, draw_scales, embed
from .embed import draw_values as draw_rows
from .fill_spans import fill_spans
from .hide_spans import draw_edges, hide_spans
from .hide_spans import draw_values as draw_spans
from .join_pair import join_pair
from .masked_lm_loss import draw_extremes, draw_sparse, draw_uneven, masked_lm_loss
from .masked_lm_loss import draw_values as draw_losses
from .next_sentence_pairs import next_sentence_pairs
from .problem_set import PROBLEM_SET

CHECKS = {check.item: check for check in PROBLEM_SET.checks}


# -- the checks ------------------------------------------------------------------------------------


def test_targets_may_have_gaps_in_memory_too():
    def with_view(vectors, targets, table, bias):
        rows, flat = vectors.reshape(-1, vectors.shape[-1]), targets.view(-1)
        return masked_lm_loss(rows[None], flat[None], table, bias)

    assert set(parts_lost(CHECKS["ps7_masked_lm_loss"], with_view)) == {"layout"}


@pytest.mark.parametrize(
    ("item", "slip", "lost"),
    [
        ("choose_positions", "The rate is 15 %, whatever was given.", {"borders"}),
        (
            "corrupt",
            "What is seen is written into the caller's ids.",
            {"nothing else changes"},
        ),
        ("mask_batch", "The generator is seeded anew.", {"the generator"}),
        (
            "mask_batch",
            "Just 15 % of the positions of each row are chosen.",
            {"what is chosen", "80/10/10"},
        ),
        ("next_sentence_pairs", "A coin of 0.5 counts as below.", {"borders"}),
        (
            "join_pair",
            "The first [SEP] belongs to segment 1.",
            {"segments", "segments of cut texts", "edges"},
        ),
        ("embed", "Eps is that of torch, 1e-5.", {"scales", "dtype"}),
        ("embed", "The table of positions is a constant.", {"gradients"}),
        ("masked_lm_loss", "Where nothing is chosen, the loss is nan.", {"nothing chosen"}),
        (
            "masked_lm_loss",
            "All positions are scored, and cross_entropy leaves out those that are not chosen.",
            {"gradients beside other positions", "gradients of nothing", "sizes"},
        ),
        (
            "hide_spans",
            "No error where the sentinels are just used up.",
            {"too few sentinels"},
        ),
        (
            "fill_spans",
            "Only the first span that a sentinel has counts.",
            {"what is too much"},
        ),
    ],
)
def test_slip_costs_what_depends_on_it(item, slip, lost):
    answer = CHECKS[f"ps7_{item}"].mistake(slip).implementation
    assert set(parts_lost(CHECKS[f"ps7_{item}"], answer)) == lost


# -- what is drawn ---------------------------------------------------------------------------------


def test_shares_that_differ_by_chance_are_not_told_apart_and_others_are():
    # 6.2 deviations of a normal number: 6 * 10^-10, both sides together.
    assert math.erfc(masking.SURE / math.sqrt(2)) < 1e-9
    assert not masking.differ((1500, 10_000), (1600, 10_000))  # two deviations
    assert masking.differ((1500, 10_000), (1900, 10_000))
    assert masking.differ((0, 10_000), (200, 10_000))
    assert not masking.differ((0, 0), (0, 0)) and masking.differ((0, 0), (3, 9))
    assert not masking.misses((1600, 10_000), 0.15) and masking.misses((2880, 18_000), 0.1)
    assert not masking.misses((1, 1), 0.15) and not masking.misses((0, 0), 0.15)
    assert not masking.vary_otherwise((9.0, 200), (12.0, 200))
    assert masking.vary_otherwise((0.0, 200), (12.0, 200))


@pytest.mark.parametrize("shares", [(0.7, 0.2), (0.8, 0.0), (0.8, 0.2), (0.9, 0.1), (1.0, 0.0)])
def test_other_shares_than_80_10_10_are_noticed(shares):
    def other_shares(ids, special_ids, vocab_size, mask_id, generator):
        chosen = choose_positions(
            ids, torch.rand(ids.shape, generator=generator), 0.15, special_ids
        )
        return mask_tokens(
            ids,
            chosen,
            vocab_size=vocab_size,
            mask_id=mask_id,
            special_ids=special_ids,
            generator=generator,
            shares=shares,
        )

    lost = parts_lost(CHECKS["ps7_mask_batch"], other_shares)
    assert "80/10/10" in lost and "what is chosen" not in lost


@pytest.mark.parametrize("rate", [0.14, 0.16])
def test_another_rate_than_15_percent_is_noticed(rate):
    def other_rate(ids, special_ids, vocab_size, mask_id, generator):
        chosen = choose_positions(
            ids, torch.rand(ids.shape, generator=generator), rate, special_ids
        )
        return mask_tokens(
            ids,
            chosen,
            vocab_size=vocab_size,
            mask_id=mask_id,
            special_ids=special_ids,
            generator=generator,
        )

    assert set(parts_lost(CHECKS["ps7_mask_batch"], other_rate)) == {"what is chosen"}


# -- the references, against torch and worked examples ---------------------------------------------


@pytest.mark.parametrize("draw", [draw_rows, draw_scales, draw_offsets])
def test_embedding_matches_torch(draw):
    # float32 adds up in another order; around 1,000 it has 4 digits left.
    for ids, segments, weights in arguments(draw):
        positions = torch.arange(ids.shape[1]).expand_as(ids)
        tables = {"token": ids, "position": positions, "segment": segments}
        x = sum(F.embedding(places, weights[name]) for name, places in tables.items())
        norm = weights["norm_weight"], weights["norm_bias"]
        right = F.layer_norm(x, x.shape[-1:], *norm, 1e-12)
        atol = 1e-3 if draw is draw_offsets else 1e-4
        torch.testing.assert_close(embed(ids, segments, weights), right, rtol=0, atol=atol)


@pytest.mark.parametrize("draw", [draw_losses, draw_uneven, draw_extremes])
def test_loss_matches_torch(draw):
    for vectors, targets, table, bias in arguments(draw):
        scores = F.linear(vectors, table, bias).flatten(0, 1)
        right = F.cross_entropy(scores, targets.flatten(), ignore_index=-100)
        torch.testing.assert_close(masked_lm_loss(vectors, targets, table, bias), right)


def test_sizes_leave_room_for_a_copy_of_the_table_with_its_bias():
    for vectors, targets, table, _ in arguments(draw_sparse):
        assert table.shape[0] * (vectors.shape[-1] + 1) < targets.numel() * table.shape[0]


@pytest.mark.parametrize("draw", [draw_spans, draw_edges])
def test_filling_undoes_hiding(draw):
    for ids, hidden, sentinels in arguments(draw):
        assert fill_spans(*hide_spans(ids, hidden, sentinels), sentinels) == ids


def test_spans_of_raffel_and_others_figure_2():
    words = ["Thank", "you", "for", "inviting", "me", "to", "your", "party", "last", "week", "."]
    ids, hidden = list(range(len(words))), [word in ("for", "inviting", "last") for word in words]
    assert hide_spans(ids, hidden, [50, 51, 52]) == (
        [0, 1, 50, 4, 5, 6, 7, 51, 9, 10],
        [50, 2, 3, 51, 8, 52],
    )


def test_examples_by_hand_match_the_references():
    ids, draws = torch.tensor([[7, 3, 5, 4, 0]]), torch.tensor([[0.125, 0.125, 0.25, 0.75, 0]])
    assert choose_positions(ids, draws, 0.25, [0, 7]).tolist() == [[False, True, *[False] * 3]]
    seen, targets = corrupt(
        torch.tensor([[20, 21, 22, 23, 24]]),
        torch.tensor([[False, True, True, True, True]]),
        torch.tensor([[0, 8, 0, 9, 7]]),
        torch.tensor([[30, 31, 32, 33, 34]]),
        1,
    )
    assert (seen.tolist(), targets.tolist()) == ([[20, 31, 1, 23, 1]], [[-100, 21, 22, 23, 24]])
    documents = [[[1], [2], [3]], [[4, 5]], [[6], [7]]]
    draws = [(0.25, 0.9, 0.9), (0.5, 0.5, 0.5), (0.75, 0.5, 0.9)]
    assert next_sentence_pairs(documents, draws) == [
        ([1], [2], True),
        ([2], [7], False),
        ([6], [4, 5], False),
    ]
    joined = join_pair([10, 11, 12, 13], [20, 21, 22], 1, 2, 8)
    assert joined == ([1, 10, 11, 12, 2, 20, 21, 2], [0, 0, 0, 0, 0, 1, 1, 1])
    vectors = torch.tensor([[[math.log(6)], [5], [0]], [[-3], [0], [4]]])
    targets = torch.tensor([[0, -100, 0], [-100, 1, -100]])
    table, bias = torch.tensor([[1.0], [0.0]]), torch.tensor([0, math.log(2)])
    loss = masked_lm_loss(vectors, targets, table, bias)
    assert loss.item() == pytest.approx(0.5973, abs=5e-5)
    hidden = [False, True, True, False, False, False, True]
    assert hide_spans([5, 6, 7, 8, 5, 9, 4], hidden, [99, 98, 97]) == (
        [5, 99, 8, 5, 9, 98],
        [99, 6, 7, 98, 4, 97],
    )
    for written, filled in (
        ([99, 6, 7, 98, 4, 97], [5, 6, 7, 8, 4]),
        ([98, 4, 99, 6], [5, 6, 8, 4]),
        ([3, 99, 6, 97, 2, 99, 7], [5, 6, 7, 8]),
    ):
        assert fill_spans([5, 99, 8, 98], written, [99, 98, 97]) == filled


# -- the inputs ------------------------------------------------------------------------------------


# -- the notebook ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("item", "mistake", "message"),
    [
        ("choose_positions", "A draw that equals the rate is chosen.", "is not below it"),
        ("corrupt", "The targets are what is seen, not what was there.", "was really there"),
        ("corrupt", "No chosen position stays as it is.", "the model sees the true id"),
        ("mask_batch", "Special tokens are chosen like all others.", "special token is to be"),
        (
            "mask_batch",
            "Just 15 % of the positions of each row are chosen.",
            "each position is chosen by itself",
        ),
        ("mask_batch", "The random id is never the true one.", "look as before"),
        (
            "next_sentence_pairs",
            "The second sentence may be from the own document.",
            "leave out the pair's own document",
        ),
        ("join_pair", "Special tokens are not counted.", "counts special tokens too"),
        ("join_pair", "Of equally long texts the first loses a token.", "the second loses"),
        ("embed", "The sum is not normalised.", "the LayerNorm is missing"),
        ("embed", "Eps is that of torch, 1e-5.", "eps is 1e-12 here"),
        ("embed", "The table of positions is a constant.", "no gradient reaches"),
        ("masked_lm_loss", "The losses are added up, not averaged.", "that is the sum"),
        ("masked_lm_loss", "The losses of other positions are multiplied by 0.", "if it is nan"),
        ("hide_spans", "The targets lack the last sentinel.", "one more sentinel"),
        (
            "fill_spans",
            "The first gap gets the first span, and so on, whatever the sentinels are.",
            "a span belongs to its sentinel",
        ),
    ],
)
def test_visible_tests_name_what_is_wrong(visible_tests, item, mistake, message):
    check = CHECKS[f"ps7_{item}"]
    with pytest.raises(AssertionError, match=message):
        visible_tests(check, check.mistake(mistake).implementation)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (
            lambda *_: torch.zeros(2, 3),
            r"your embed returned \(2, 3\), torch.float32; it must return \(2, 3, 64\), "
            r"torch.float32",
        ),
        (lambda *_: None, "your embed returned NoneType; it must return a tensor"),
    ],
)
def test_workshop_says_in_one_line_what_does_not_fit(release, function, message):
    _, namespace = run_cells(release.solution)
    for cell in release.solution.cells:
        if "import copy" in cell.source or "def my_vectors" in cell.source:
            source = cell.source.replace("corpus.train", "corpus.train[:40]")
            source = source.replace("corpus.valid[:300]", "corpus.valid[:20]")
            exec(compile(source, "workshop", "exec"), namespace)
    namespace["embed"] = function
    with pytest.raises((ValueError, TypeError), match=f"^{message}$"):
        namespace["my_vectors"](namespace["mine"], torch.ones(2, 3).long(), None)


@pytest.mark.exhaustive
def test_solution_notebook_runs_whole_and_agrees_with_the_package(release):
    printed, n_pictures = run_whole(release.solution)
    (first,) = (line for line in printed.splitlines() if "before training" in line)
    yours, packages = (float(part.split()[-1]) for part in first.split(","))
    assert yours == pytest.approx(packages, abs=2e-5)  # float32, in another order
    exam = [line for line in printed.splitlines() if "nats per gap" in line]
    yours, packages = (float(line.split(" nats")[0].split()[-1]) for line in exam)
    assert yours == pytest.approx(packages, abs=0.15) and yours < 1.5
    assert "filled again, it is the story: True" in printed
    assert n_pictures == 2
