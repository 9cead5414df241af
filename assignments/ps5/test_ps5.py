"""What is special to problem set 5: its inputs, its examples, and what its notebook shows."""

import math
import re

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from course_pkg.models.gpt import gpt2_small
from tests.assignments.notebooks import arguments, parts_lost, run_cells, run_whole

from .count_parameters import PUBLISHED, count_parameters, gpt2, llama
from .cross_attention import cross_attention, draw_many_heads, draw_one_head, draw_padded
from .feed_forward import feed_forward
from .layer_norm import draw_constants, draw_eps, draw_extremes, draw_learned, layer_norm
from .pre_norm_block import pre_norm_block
from .problem_set import PROBLEM_SET
from .rms_norm import rms_norm
from .rotate import draw_any_positions, draw_turns, rotate
from .sinusoidal_positions import sinusoidal_positions

CHECKS = {check.item: check for check in PROBLEM_SET.checks}
each_item = pytest.mark.parametrize("item", CHECKS)


# -- the checks ------------------------------------------------------------------------------------


@pytest.mark.parametrize("item", [item for item, check in CHECKS.items() if not check.chance])
def test_heart_of_an_item_is_worth_half_of_it(item):
    hearts = {
        "ps5_layer_norm": {"values", "weight and bias"},
        "ps5_rms_norm": {"values", "weight"},
        "ps5_cross_attention": {"one head", "many heads", "padding"},
        "ps5_count_parameters": {"blocks", "GPT-2"},
        "ps5_pre_norm_block": {"values", "two norms", "masks"},
        "ps5_rotate": {"values", "distances"},
    }
    parts = CHECKS[item].parts
    worth = sum(part.weight for part in parts if part.name in hearts.get(item, {"values"}))
    assert worth >= 0.5 * sum(part.weight for part in parts)


@pytest.mark.parametrize(
    ("item", "slip", "lost"),
    [
        (
            "ps5_sinusoidal_positions",
            "The angles are computed in half precision.",
            {"late positions"},
        ),
        ("ps5_rotate", "The base is 10000, whatever was given.", {"bases"}),
        ("ps5_rotate", "The halves of x are overwritten.", {"nothing else changes"}),
        ("ps5_rotate", "No gradient flows back through the turn.", {"gradients"}),
        ("ps5_layer_norm", "Eps is a constant of the answer's own.", {"eps"}),
        (
            "ps5_layer_norm",
            "The standard deviation is squared again, so that its gradient breaks at 0.",
            {"gradients of constants"},
        ),
        (
            "ps5_layer_norm",
            "The variance is the mean square minus the square of the mean.",
            {"extremes"},
        ),
        ("ps5_rms_norm", "The squares are computed in float16.", {"half precision", "eps"}),
        ("ps5_rms_norm", "The result of float16 stays float32.", {"dtype"}),
        (
            "ps5_feed_forward",
            "silu is written with an exponential that overflows in its gradient.",
            {"gradients"},
        ),
        ("ps5_pre_norm_block", "Attention is called twice.", {"calls"}),
        (
            "ps5_pre_norm_block",
            "The mask is not handed on.",
            {"masks", "calls", "hidden positions"},
        ),
        (
            "ps5_cross_attention",
            "A number of ordinary size is subtracted from hidden scores.",
            {"extremes", "dtype"},
        ),
        (
            "ps5_cross_attention",
            "A memory without anything real is averaged.",
            {"no memory", "gradients"},
        ),
        ("ps5_count_parameters", "The number is a float.", {"LLaMA", "nothing else changes"}),
        ("ps5_count_parameters", "RMSNorm has a bias.", {"norms and biases"}),
    ],
)
def test_slip_costs_what_depends_on_it(item, slip, lost):
    assert set(parts_lost(CHECKS[item], CHECKS[item].mistake(slip).implementation)) == lost


def test_turn_in_another_layout_keeps_the_points_for_distances():
    for name in ("Neighbouring entries are paired.", "Positions are counted from one."):
        lost = parts_lost(CHECKS["ps5_rotate"], CHECKS["ps5_rotate"].mistake(name).implementation)
        assert "values" in lost and "distances" not in lost


def test_float_that_is_rounded_to_an_int_miscounts_the_largest():
    def rounded(config):
        return int(float(count_parameters(config)))

    assert set(parts_lost(CHECKS["ps5_count_parameters"], rounded)) == {"LLaMA"}


def test_batch_of_no_text_has_results_too():
    def stacked(x, mask, attention, feed_forward, norm_1, norm_2):
        block = pre_norm_block(x, mask, attention, feed_forward, norm_1, norm_2)
        return torch.stack([text * 1 for text in block])

    assert set(parts_lost(CHECKS["ps5_pre_norm_block"], stacked)) == {"masks"}


def test_view_fails_where_a_tensor_has_gaps():
    def with_view(x, weight, bias, eps):
        return layer_norm(x.view(-1, x.shape[-1]), weight, bias, eps).view(x.shape)

    assert set(parts_lost(CHECKS["ps5_layer_norm"], with_view)) == {"layout"}


# -- the references, against torch and published numbers -------------------------------------------


def test_waves_match_torch_functions_of_float64():
    positions = torch.tensor([[0, 7], [63, 511]])
    exponents = torch.arange(6).div(2, rounding_mode="floor") * 2 / 6
    angles = positions.double()[..., None] / 10_000 ** exponents.double()
    even = torch.arange(6) % 2 == 0
    expected = torch.where(even, angles.sin(), angles.cos()).float()
    # float32 rounds an angle near 500 by up to 3e-5.
    torch.testing.assert_close(sinusoidal_positions(positions, 6), expected, rtol=0, atol=1e-4)


def test_turn_matches_transformers():
    llama_code = pytest.importorskip("transformers.models.llama.modeling_llama")
    x, positions = torch.randn(2, 3, 5, 8), torch.tensor([0, 1, 5, 2, 40])
    angles = torch.outer(positions.float(), 10_000.0 ** -(torch.arange(0, 8, 2) / 8))
    angles = torch.cat([angles, angles], dim=-1)[None]
    expected, _ = llama_code.apply_rotary_pos_emb(x, x, angles.cos(), angles.sin())
    torch.testing.assert_close(rotate(x, positions, 10_000.0), expected)


@pytest.mark.parametrize("draw", [draw_learned, draw_eps, draw_constants, draw_extremes])
def test_norms_match_torch(draw):
    # float32 adds up in another order; numbers near 1e12 leave it no digit to spare.
    for x, weight, bias, eps in arguments(draw):
        expected = F.layer_norm(x, x.shape[-1:], weight, bias, eps)
        tight = {"rtol": 1e-4, "atol": 1e-4} if x.dtype is torch.float32 else {}
        if x.dtype is torch.float64 and draw is draw_extremes:
            tight = {"rtol": 1e-6, "atol": 1e-6}
        torch.testing.assert_close(layer_norm(x, weight, bias, eps), expected, **tight)
        expected = F.rms_norm(x, x.shape[-1:], weight, eps)
        torch.testing.assert_close(rms_norm(x, weight, eps), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("draw", [draw_one_head, draw_many_heads, draw_padded])
def test_cross_attention_matches_torch(draw):
    for x, memory, mask, weights, n_heads in arguments(draw):
        layer = nn.MultiheadAttention(
            x.shape[-1],
            n_heads,
            bias=False,
            kdim=memory.shape[-1],
            vdim=memory.shape[-1],
            batch_first=True,
            dtype=x.dtype,
        )
        layer._qkv_same_embed_dim = False
        for name in ("query", "key", "value"):
            setattr(layer, f"{name[0]}_proj_weight", nn.Parameter(weights[name]))
        layer.out_proj.weight = nn.Parameter(weights["output"])
        expected, _ = layer(x, memory, memory, key_padding_mask=~mask)
        found = cross_attention(x, memory, mask, weights, n_heads)
        torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", PUBLISHED)
def test_counts_are_the_published_ones(name, right_answers):
    config, published = PUBLISHED[name]
    assert count_parameters(config) == published
    for answer in right_answers(CHECKS["ps5_count_parameters"]):
        assert answer(config) == published


def test_config_of_gpt2_is_the_packages():
    config = gpt2_small()
    ours = gpt2()
    assert {name: ours[name] for name in ("d_model", "d_ff", "vocab_size", "n_layers")} == {
        name: getattr(config, name) for name in ("d_model", "d_ff", "vocab_size", "n_layers")
    }
    assert llama()["d_ff"] == 11_008


# -- the inputs ------------------------------------------------------------------------------------


def test_positions_are_not_those_that_a_count_would_give():
    for x, positions, _ in arguments(draw_any_positions)[:5]:  # what follows is in other layouts
        assert positions.tolist() != list(range(x.shape[-2]))


def test_first_turns_turn_something_in_every_case():
    for x, positions, base in arguments(draw_turns):
        assert not torch.allclose(rotate(x, positions, base), x)


# -- the examples in the text ----------------------------------------------------------------------


def test_examples_by_hand_match_the_references():
    as_printed = {"rtol": 0, "atol": 1e-4}
    waves = sinusoidal_positions(torch.tensor([0, 1, 2]), 4)
    by_hand = [[0, 1, 0, 1], [0.8415, 0.5403, 0.0100, 1.0], [0.9093, -0.4161, 0.02, 0.9998]]
    torch.testing.assert_close(waves, torch.tensor(by_hand), **as_printed)
    turned = rotate(torch.tensor([[1.0, 0.0, 0.0, 2.0]]), torch.tensor([1]), 100.0)
    torch.testing.assert_close(
        turned, torch.tensor([[0.5403, -0.1997, 0.8415, 1.99]]), **as_printed
    )
    weight, bias = torch.tensor([1.0, 2.0, 1.0]), torch.tensor([0.0, 0.0, 1.0])
    normal = layer_norm(torch.tensor([1.0, 2.0, 6.0]), weight, bias, 1e-9)
    torch.testing.assert_close(normal, torch.tensor([-0.9258, -0.9258, 2.3887]), **as_printed)
    normal = rms_norm(torch.tensor([3.0, 4.0]), torch.tensor([2.0, 1.0]), 1e-9)
    torch.testing.assert_close(normal, torch.tensor([1.6971, 1.1314]), **as_printed)
    weights = {
        "expand": torch.tensor([[1.0], [-1.0]]),
        "gate": torch.tensor([[0.5], [1.0]]),
        "contract": torch.tensor([[1.0, 1.0]]),
    }
    added = feed_forward(torch.tensor([2.0]), weights)
    torch.testing.assert_close(added, torch.tensor([1.2848]), **as_printed)
    functions = (lambda x, mask: 2 * x, lambda x: x + 1, lambda x: x / 2, lambda x: x / 10)
    after = pre_norm_block(torch.tensor([[[4.0]]]), None, *functions)
    assert after.item() == pytest.approx(9.8)
    one = torch.tensor([[1.0]])
    memory = torch.tensor([[[0.0], [math.log(3) / 2], [7.0]]])
    mask = torch.tensor([[True, True, False]])
    weights = {"query": one, "key": one, "value": 4 * one, "output": one}
    found = cross_attention(torch.tensor([[[2.0]]]), memory, mask, weights, 1)
    assert found.item() == pytest.approx(0.75 * 2.1972, abs=1e-4)
    assert 38_597_376 + 786_432 + 12 * (2_362_368 + 4_722_432 + 3_072) + 1_536 == 124_439_808


def test_numbers_of_the_question_in_words_are_right():
    x = torch.randn(5, dtype=torch.float64)
    one, zero = torch.ones(5, dtype=torch.float64), torch.zeros(5, dtype=torch.float64)
    moved = 10 * x + 3
    torch.testing.assert_close(layer_norm(moved, one, zero, 1e-15), layer_norm(x, one, zero, 1e-15))
    torch.testing.assert_close(rms_norm(moved, one, 1e-15), rms_norm(x + 0.3, one, 1e-15))
    assert pytest.approx(2 / 3, abs=0.001) == 4_722_432 / 7_087_872


# -- the notebook ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("item", "mistake", "message"),
    [
        ("sinusoidal_positions", "Sine and cosine are swapped.", "the sine comes first"),
        (
            "sinusoidal_positions",
            "The positions are counted anew from 0, whatever was given.",
            "use the positions that are given",
        ),
        ("rotate", "Neighbouring entries are paired.", "and not with its neighbour"),
        ("rotate", "The turn goes the other way.", "you turn the other way"),
        ("rotate", "The base is 10000, whatever was given.", "use the base that is given"),
        ("rotate", "The angles are computed in the dtype of x.", "cannot tell 257 from 256"),
        ("layer_norm", "The variance is divided by one less than the width.", "and not by D - 1"),
        ("layer_norm", "The mean is not subtracted.", "subtract the mean"),
        ("layer_norm", "Eps is missing.", "use the eps that is given"),
        ("rms_norm", "The mean is subtracted first, as in LayerNorm.", "mean is not subtracted"),
        ("rms_norm", "The squares are computed in float16.", "300 squared is beyond float16"),
        ("feed_forward", "The gate is left out.", "multiply by the gate"),
        ("feed_forward", "GELU takes the place of silu.", "that was GELU"),
        ("feed_forward", "The activation is on the other projection.", "the gate stays linear"),
        (
            "pre_norm_block",
            "The sums are normalised, not what enters the sublayers: post-norm.",
            "that was post-norm",
        ),
        ("pre_norm_block", "The residual connection starts behind the norm.", "add to x itself"),
        ("pre_norm_block", "The mask is not handed on.", "hand on the mask"),
        ("cross_attention", "The mask is ignored.", "padding must get no weight"),
        (
            "cross_attention",
            "Heads are joined without moving their axis back.",
            "with 3 heads your result differs from torch's",
        ),
        ("count_parameters", "The last norm is forgotten.", "the norm after the last block"),
        ("count_parameters", "The norms have no parameters.", "you leave out the norms"),
        ("count_parameters", "The tied table is counted twice.", "a tied table counts once"),
    ],
)
def test_visible_tests_name_what_is_wrong(visible_tests, item, mistake, message):
    check = CHECKS[f"ps5_{item}"]
    with pytest.raises(AssertionError, match=message):
        visible_tests(check, check.mistake(mistake).implementation)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (
            lambda x, *_: x[..., :1],
            r"your rms_norm returned \(2, 3, 1\), torch.float64; "
            r"it must return \(2, 3, 4\), torch.float64",
        ),
        (
            lambda x, *_: x.float(),
            r"your rms_norm returned \(2, 3, 4\), torch.float32; "
            r"it must return \(2, 3, 4\), torch.float64",
        ),
        (lambda x, *_: None, "your rms_norm returned NoneType; it must return a tensor"),
    ],
)
def test_workshop_says_in_one_line_what_does_not_fit(release, function, message):
    _, namespace = run_cells(release.solution)
    (cell,) = (cell for cell in release.solution.cells if "class MyNorm" in cell.source)
    exec(compile(cell.source, "workshop", "exec"), namespace)
    norm = namespace["plug_in"](nn.Sequential(namespace["RMSNorm"](4).double()))
    namespace["rms_norm"] = function
    with pytest.raises((ValueError, TypeError), match=f"^{message}$"):
        norm(torch.ones(2, 3, 4, dtype=torch.float64))


@pytest.mark.exhaustive
def test_solution_notebook_runs_whole_and_agrees_with_the_package(release):
    printed, n_pictures = run_whole(release.solution)
    assert printed.count("both copies agree") == 3
    assert printed.count("you count 24,736 parameters, the package has 24,736") == 2
    at_last = {
        line[:10].strip(): float(line.split("first, ")[1].split(" at last")[0])
        for line in printed.splitlines()
        if line.endswith("both copies agree")
    }
    # What the text tells the student to expect, to the digits that it prints.
    assert at_last["2017"] == pytest.approx(0.85, abs=0.011)
    assert at_last["LLaMA"] == pytest.approx(0.81, abs=0.011)
    (text,) = (c.source for c in release.solution.cells if "What you should see" in c.source)
    assert f"{at_last['reversing']:.2f} nats left" in text
    to_beat = float(re.search(r"7,248 numbers, a perplexity of (\d+\.\d+)", printed)[1])
    assert to_beat == pytest.approx(1.83, abs=0.1) and "is about 1.83. On other" in text
    assert n_pictures == 3
