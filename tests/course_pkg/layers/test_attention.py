import math
import re

import jaxtyping
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from course_pkg.layers.attention import (
    AdditiveScore,
    BilinearScore,
    DotScore,
    KeyValueCache,
    MultiHeadAttention,
    ScaledDotScore,
    attend,
    attention_weights,
    causal_mask,
    masked_softmax,
    padding_mask,
)
from course_pkg.layers.blocks import RMSNorm
from course_pkg.layers.caches import FixedKeyValueCache
from course_pkg.layers.positions import ALiBi
from course_pkg.models.transformer_config import ATTENTION_POSITIONS, TransformerConfig
from tests.course_pkg.layers.schemes import shares_key_heads

B, T, S, H, K = 2, 5, 7, 3, 4
D = H * K
# Two ways to add the same float64 numbers differ by some units of the sixteenth digit.
EXACT = {"rtol": 1e-10, "atol": 1e-10}


def normal(rng, *shape):
    return torch.randn(*shape, generator=rng, dtype=torch.float64)


def randomised(module, rng):
    """Draw every parameter, so that none is at a special value such as a norm's one."""
    module.double()
    for parameter in module.parameters():
        parameter.data.normal_(std=0.5, generator=rng)
    return module


def attention_positions(kind):
    if kind == "none":
        return None
    sizes = {"vocab_size": 2, "context_length": 3, "d_model": D, "n_heads": H, "n_layers": 1}
    return ATTENTION_POSITIONS[kind](TransformerConfig(**sizes, d_ff=1, positions=kind))


POSITIONS = ["none", *ATTENTION_POSITIONS]


class TestScores:
    def test_dot_scores_match_torch(self, rng):
        query, key = normal(rng, B, T, K), normal(rng, B, S, K)
        expected = torch.einsum("btk,bsk->bts", query, key)
        torch.testing.assert_close(DotScore()(query, key), expected, **EXACT)
        torch.testing.assert_close(ScaledDotScore()(query, key), expected / 2.0, **EXACT)  # sqrt(4)

    def test_bilinear_score_matches_torch(self, rng):
        query, key = normal(rng, B, T, 6), normal(rng, B, S, K)
        score = randomised(BilinearScore(d_query=6, d_key=K), rng)
        expected = F.bilinear(
            query[:, :, None].expand(B, T, S, 6).contiguous(),
            key[:, None].expand(B, T, S, K).contiguous(),
            score.project.weight.unsqueeze(0),
        )
        torch.testing.assert_close(score(query, key), expected.squeeze(-1), **EXACT)

    def test_additive_score_follows_its_equation_for_each_pair(self, rng):
        query, key = normal(rng, B, T, 6), normal(rng, B, S, K)
        score = randomised(AdditiveScore(d_query=6, d_key=K, d_hidden=5), rng)
        scores = score(query, key)
        W, U, v = (layer.weight for layer in (score.project_query, score.project_key, score.score))
        for b, t, s in [(0, 0, 0), (1, 4, 6), (0, 3, 2)]:
            expected = v[0] @ torch.tanh(W @ query[b, t] + U @ key[b, s])
            torch.testing.assert_close(scores[b, t, s], expected, **EXACT)


class TestMasks:
    def test_causal_mask_shows_each_position_itself_and_the_past(self):
        assert causal_mask(3).tolist() == [
            [True, False, False],
            [True, True, False],
            [True, True, True],
        ]

    def test_causal_mask_places_the_queries_last_when_keys_are_cached(self):
        assert causal_mask(2, 4).tolist() == [[True, True, True, False], [True, True, True, True]]

    def test_causal_mask_rejects_fewer_keys_than_queries(self):
        with pytest.raises(ValueError, match="S is 2; it must be at least T, which is 3"):
            causal_mask(3, 2)

    def test_padding_mask_hides_what_follows_each_length(self):
        mask = padding_mask(torch.tensor([3, 0]), 4)
        assert mask.tolist() == [[[True, True, True, False]], [[False, False, False, False]]]
        assert (mask & causal_mask(4))[0].sum(-1).tolist() == [1, 2, 3, 3]

    @pytest.mark.parametrize(
        ("lengths", "S", "message"),
        [
            ([-1, 2], 4, r"lengths is \[-1, 2\]; each must be 0 to 4, the number of positions"),
            ([1, 9], 4, r"lengths is \[1, 9\]; each must be 0 to 4"),
            ([2.5, 1.0], 4, r"lengths is torch.float32 of shape \(2,\); it must hold one whole"),
            ([True, False], 4, r"lengths is torch.bool of shape"),
            ([[1, 2]], 4, r"lengths is torch.int64 of shape \(1, 2\)"),
            ([1], 4.5, "S is 4.5; it must be a whole number"),
            ([0], -1, "S is -1; it must be at least 0"),
        ],
    )
    def test_padding_mask_rejects_what_are_no_lengths_of_the_rows(
        self, without_jaxtyping, lengths, S, message
    ):
        with pytest.raises(ValueError, match=message):
            padding_mask(torch.tensor(lengths), S)

    def test_masked_softmax_sums_to_one_over_what_may_be_seen(self, rng):
        mask = torch.tensor([[True, False, True, True], [False, True, False, False]])
        weights = masked_softmax(normal(rng, 3, 2, 4), mask)
        assert (weights[:, ~mask] == 0).all()  # exactly: a small number would leak
        torch.testing.assert_close(weights.sum(-1), torch.ones(3, 2).double(), **EXACT)

    def test_masked_softmax_matches_torch_on_what_may_be_seen(self, rng):
        scores = normal(rng, 4)
        mask = torch.tensor([[True, False, True, True]])
        expected = scores[mask[0]].softmax(-1)
        torch.testing.assert_close(
            masked_softmax(scores.unsqueeze(0), mask)[mask], expected, **EXACT
        )

    def test_masked_softmax_hides_scores_however_large(self):
        scores = torch.tensor([[1e4, -1e4, 1e4]], dtype=torch.float64)
        weights = masked_softmax(scores, torch.tensor([[False, True, False]]))
        assert weights.tolist() == [[0.0, 1.0, 0.0]]


@pytest.mark.parametrize("fused", [False, True])
class TestAttend:
    def test_attend_matches_torch(self, rng, fused):
        query, key, value = normal(rng, B, T, D), normal(rng, B, S, D), normal(rng, B, S, D)
        oracle = nn.MultiheadAttention(D, 1, bias=False, batch_first=True).double()
        eye = torch.eye(D, dtype=torch.float64)
        oracle.in_proj_weight.data, oracle.out_proj.weight.data = torch.cat([eye] * 3), eye
        mask = torch.rand(T, S, generator=rng) < 0.7
        mask[:, 0] = True
        expected, _ = oracle(query, key, value, attn_mask=~mask)
        torch.testing.assert_close(attend(query, key, value, mask, fused=fused), expected, **EXACT)

    def test_attend_returns_zeros_and_finite_gradients_when_a_row_sees_nothing(self, rng, fused):
        inputs = [normal(rng, B, H, n, K).requires_grad_() for n in (T, S, S)]
        mask = torch.ones(B, 1, T, S, dtype=torch.bool)
        mask[1, :, 2] = False
        for bias in (None, normal(rng, H, T, S)):
            out = attend(*inputs, mask, bias=bias, fused=fused)
            assert (out[1, :, 2] == 0).all()
            assert (out[0] != 0).all()
            for gradient in torch.autograd.grad(out.square().sum(), inputs):
                assert gradient.isfinite().all()

    def test_attend_returns_zeros_when_a_sequence_is_all_padding(self, rng, fused):
        query, key, value = (normal(rng, B, H, n, K) for n in (T, S, S))
        out = attend(query, key, value, padding_mask(torch.tensor([4, 0]), S)[:, None], fused=fused)
        assert (out[1] == 0).all()
        expected = attend(query[:1], key[:1, :, :4], value[:1, :, :4], fused=fused)
        torch.testing.assert_close(out[:1], expected, **EXACT)

    def test_attend_ignores_the_future_when_causal(self, rng, fused):
        query, key, value = (normal(rng, B, H, T, K) for _ in range(3))
        before = attend(query, key, value, is_causal=True, fused=fused)
        key[:, :, 3:], value[:, :, 3:] = 9.0, -9.0
        after = attend(query, key, value, is_causal=True, fused=fused)
        torch.testing.assert_close(after[:, :, :3], before[:, :, :3], rtol=0, atol=0)
        assert (after[:, :, 3:] != before[:, :, 3:]).all()

    def test_attend_drops_weights_only_when_asked(self, rng, fused):
        query, key, value = (normal(rng, B, H, T, K) for _ in range(3))
        torch.testing.assert_close(
            attend(query, key, value, dropout=0.0, fused=fused), attend(query, key, value), **EXACT
        )
        dropped = attend(query, key, value, dropout=0.99, fused=fused)
        assert (dropped == 0).all(dim=-1).any()  # some query lost all of its weights


def _cases(rng):
    mask = torch.rand(B, 1, T, S, generator=rng) < 0.6
    mask[0, 0, 1] = False
    return {
        "plain": (T, S, None, None, False),
        "masked": (T, S, mask, None, False),
        "causal": (T, T, None, None, True),
        "causal with cached keys": (T, S, None, None, True),
        "one causal query": (1, S, None, None, True),
        "causal and masked": (T, S, mask, None, True),
        "biased": (T, S, None, normal(rng, H, T, S), False),
        "biased and causal": (T, S, None, normal(rng, B, H, T, S), True),
        "biased, causal and masked": (T, S, mask, normal(rng, H, T, S), True),
    }


@pytest.mark.parametrize("case", _cases(torch.Generator()))
def test_fused_attention_equals_the_written_out_one(rng, case):
    n_queries, n_keys, mask, bias, is_causal = _cases(rng)[case]
    inputs = [normal(rng, B, H, n, K).requires_grad_() for n in (n_queries, n_keys, n_keys)]
    if bias is not None:
        inputs.append(bias.requires_grad_())
    results = []
    for fused in (False, True):
        out = attend(*inputs[:3], mask, bias=bias, is_causal=is_causal, fused=fused)
        gradients = torch.autograd.grad(out.square().sum(), inputs)
        results.append([out, *gradients])
    for written_out, fused in zip(*results, strict=True):
        torch.testing.assert_close(fused, written_out, **EXACT)


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
@pytest.mark.parametrize("case", _cases(torch.Generator()))
def test_fused_attention_on_a_gpu_equals_the_written_out_one_on_the_cpu(rng, case, dtype):
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    # Which kernel runs depends on dtype and mask, and not all of them treat empty rows alike.
    n_queries, n_keys, mask, bias, is_causal = _cases(rng)[case]
    inputs = [normal(rng, B, H, n, 8).to(dtype).double() for n in (n_queries, n_keys, n_keys)]
    results = []
    for device, fused in (("cpu", False), ("cuda", True)):
        kind = torch.float64 if device == "cpu" else dtype
        moved = [x.to(device, kind).requires_grad_() for x in inputs]
        out = attend(
            *moved,
            None if mask is None else mask.to(device),
            bias=None if bias is None else bias.to(device, kind),
            is_causal=is_causal,
            fused=fused,
        )
        gradients = torch.autograd.grad(out.square().sum(), moved)
        results.append([x.double().cpu() for x in (out, *gradients)])
    # the precision of each type, with room for sums of some dozens of terms
    tolerance = {torch.float64: 1e-10, torch.float32: 1e-4, torch.bfloat16: 0.1}[dtype]
    for expected, found in zip(*results, strict=True):
        torch.testing.assert_close(found, expected, rtol=tolerance, atol=tolerance)


def test_attention_weights_are_scaled_by_the_root_of_the_width(rng):
    query, key = normal(rng, B, T, K), normal(rng, B, S, K)
    expected = (query @ key.mT / math.sqrt(K)).softmax(-1)
    torch.testing.assert_close(attention_weights(query, key), expected, **EXACT)


def torch_twin(attention, **kwargs):
    """Return torch's module with the same weights."""
    oracle = nn.MultiheadAttention(D, H, batch_first=True, **kwargs).double()
    parts = (attention.query, attention.key, attention.value)
    if oracle.in_proj_weight is not None:
        oracle.in_proj_weight.data = torch.cat([part.weight.data for part in parts])
    else:
        oracle.q_proj_weight.data, oracle.k_proj_weight.data, oracle.v_proj_weight.data = (
            part.weight.data for part in parts
        )
    oracle.in_proj_bias.data = torch.cat([part.bias.data for part in parts])
    oracle.out_proj.load_state_dict(attention.output.state_dict())
    return oracle


@pytest.mark.parametrize("fused", [False, True])
class TestMultiHeadAttention:
    def test_self_attention_matches_torch(self, rng, fused):
        attention = randomised(MultiHeadAttention(D, H, fused=fused), rng)
        oracle = torch_twin(attention)
        x = normal(rng, B, T, D).requires_grad_()
        mask = torch.rand(T, T, generator=rng) < 0.7
        mask.fill_diagonal_(True)
        trace = [] if not fused else None
        out = attention(x, mask=mask[None], trace=trace)
        expected, weights = oracle(x, x, x, attn_mask=~mask, average_attn_weights=False)
        torch.testing.assert_close(out, expected, **EXACT)
        ours = torch.autograd.grad(out.square().sum(), [x, attention.key.weight])
        theirs = torch.autograd.grad(expected.square().sum(), [x, oracle.in_proj_weight])
        torch.testing.assert_close(ours[0], theirs[0], **EXACT)
        torch.testing.assert_close(ours[1], theirs[1][D : 2 * D], **EXACT)
        if trace is not None:
            torch.testing.assert_close(trace[0], weights, **EXACT)

    def test_cross_attention_matches_torch(self, rng, fused):
        attention = randomised(MultiHeadAttention(D, H, d_memory=10, fused=fused), rng)
        oracle = torch_twin(attention, kdim=10, vdim=10)
        x, memory = normal(rng, B, T, D), normal(rng, B, S, 10)
        lengths = torch.tensor([7, 3])
        out = attention(x, memory, mask=padding_mask(lengths, S))
        padded = torch.arange(S) >= lengths.unsqueeze(-1)
        expected, _ = oracle(x, memory, memory, key_padding_mask=padded)
        torch.testing.assert_close(out, expected, **EXACT)

    def test_grouped_heads_equal_full_heads_with_repeated_weights(self, rng, fused):
        grouped = randomised(MultiHeadAttention(24, 6, n_kv_heads=2, fused=fused), rng)
        full = MultiHeadAttention(24, 6, fused=fused).double()
        state = grouped.state_dict()
        for name in ("key.weight", "key.bias", "value.weight", "value.bias"):
            heads = state[name].unflatten(0, (2, 4))  # 2 heads of width 4, each for 3 query heads
            state[name] = heads.repeat_interleave(3, dim=0).flatten(0, 1)
        full.load_state_dict(state)
        x = normal(rng, B, T, 24)
        torch.testing.assert_close(grouped(x), full(x), **EXACT)

    @pytest.mark.parametrize(
        ("kind", "n_kv_heads"),
        [(kind, n) for kind in POSITIONS for n in (H, 1) if n == H or shares_key_heads(kind)],
    )
    def test_cached_attention_equals_uncached(self, rng, fused, kind, n_kv_heads):
        attention = MultiHeadAttention(
            D,
            H,
            n_kv_heads=n_kv_heads,
            positions=attention_positions(kind),
            qk_norm=RMSNorm,
            fused=fused,
        )
        randomised(attention, rng)
        x = normal(rng, B, T, D)
        expected = attention(x, is_causal=True)
        cache = KeyValueCache()
        with torch.no_grad():
            pieces = [attention(p, is_causal=True, cache=cache) for p in x.split([2, 1, 2], 1)]
        assert cache.length == T
        torch.testing.assert_close(torch.cat(pieces, dim=1), expected, **EXACT)

    def test_cached_cross_attention_reads_the_memory_once(self, rng, fused):
        attention = randomised(MultiHeadAttention(D, H, fused=fused), rng)
        x, memory, cache = normal(rng, B, T, D), normal(rng, B, S, D), KeyValueCache()
        expected = attention(x, memory)
        first = attention(x[:, :2], memory, cache=cache)
        second = attention(x[:, 2:], torch.zeros_like(memory), cache=cache)
        torch.testing.assert_close(torch.cat([first, second], dim=1), expected, **EXACT)

    @pytest.mark.parametrize("kind", POSITIONS)
    def test_tracing_the_weights_changes_nothing(self, rng, fused, kind):
        attention = MultiHeadAttention(D, H, positions=attention_positions(kind), fused=fused)
        randomised(attention, rng)
        x, trace = normal(rng, B, T, D), []
        out = attention(x, is_causal=True, trace=trace)
        torch.testing.assert_close(out, attention(x, is_causal=True), **EXACT)
        assert trace[0].shape == (B, H, T, T)
        torch.testing.assert_close(trace[0].sum(-1), torch.ones(B, H, T).double(), **EXACT)

    def test_without_positions_permuting_the_input_permutes_the_output(self, rng, fused):
        attention = randomised(MultiHeadAttention(D, H, fused=fused), rng)
        x, order = normal(rng, B, T, D), torch.tensor([3, 0, 4, 1, 2])
        torch.testing.assert_close(attention(x)[:, order], attention(x[:, order]), **EXACT)

    @pytest.mark.parametrize("kind", ATTENTION_POSITIONS)
    def test_positions_make_order_matter(self, rng, fused, kind):
        attention = MultiHeadAttention(D, H, positions=attention_positions(kind), fused=fused)
        randomised(attention, rng)
        x, order = normal(rng, B, T, D), torch.tensor([3, 0, 4, 1, 2])
        assert (attention(x)[:, order] - attention(x[:, order])).abs().max() > 1e-3

    @pytest.mark.parametrize("name", ["query", "key"])
    def test_qk_norm_makes_scores_independent_of_the_size_of_the_weights(self, rng, fused, name):
        qk_norm = lambda width: RMSNorm(width, eps=0.0)  # noqa: E731
        attention = MultiHeadAttention(D, H, has_bias=False, qk_norm=qk_norm, fused=fused)
        randomised(attention, rng)
        x = normal(rng, B, T, D)
        before = attention(x)
        getattr(attention, name).weight.data *= 100.0
        torch.testing.assert_close(attention(x), before, **EXACT)

    def test_dropout_acts_in_training_only(self, rng, fused):
        attention = randomised(MultiHeadAttention(D, H, dropout=0.5, fused=fused), rng)
        x = normal(rng, B, T, D)
        assert not torch.equal(attention(x), attention(x))
        attention.eval()
        assert torch.equal(attention(x), attention(x))


def test_grouped_heads_reach_the_kernel_without_being_copied(rng, monkeypatch):
    n_heads = []

    def spy(query, key, value, *options, **more):
        n_heads.append((query.shape[1], key.shape[1], value.shape[1]))
        return kernel(query, key, value, *options, **more)

    kernel = F.scaled_dot_product_attention
    monkeypatch.setattr(F, "scaled_dot_product_attention", spy)
    attention = MultiHeadAttention(24, 6, n_kv_heads=2).double()
    attention(normal(rng, B, T, 24), is_causal=True)
    attention(normal(rng, B, 1, 24), is_causal=True)  # those that share a key, side by side
    assert n_heads == [(6, 2, 2), (2, 2, 2)]


@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize("has_autocast", [False, True])
def test_alibi_in_bfloat16_stays_near_float64(rng, fused, has_autocast):
    # The last position may look at the first eight alone, and finds their place. Its distances to
    # them, rounded to bfloat16, are all 2048: it would find the middle, 3.5.
    n = 2048
    attention = MultiHeadAttention(2, 1, positions=ALiBi(1), has_bias=False, fused=fused)
    attention.positions.bias = lambda query, key: 256 * ALiBi(1).bias(query, key)  # slope 1
    attention.query.weight.data.zero_()
    attention.value.weight.data = torch.eye(2)
    attention.output.weight.data = torch.eye(2)
    place, mask = torch.arange(n) % 8, torch.arange(n) < 8
    expected = sum(i * math.exp(i) for i in range(8)) / sum(math.exp(i) for i in range(8))
    attention.to(torch.float32 if has_autocast else torch.bfloat16)
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=has_autocast):
        x = place.expand(1, 2, n).mT.to(attention.query.weight.dtype)
        out = attention(x, mask=mask[None, None])
    assert out[0, -1, 0].item() == pytest.approx(expected, abs=0.05)  # bfloat16 holds 6.42 as 6.41


class TestPlugIn:
    def test_plug_in_that_fails_or_returns_another_shape_or_dtype_is_told_both(self, rng):
        x = normal(rng, B, T, D)
        wrong = MultiHeadAttention(D, H, attend=lambda q, k, v, mask: q @ k).double()
        with pytest.raises(RuntimeError, match=r"query \(2, 3, 5, 4\), key \(2, 3, 5, 4\)"):
            wrong(x)
        scores = MultiHeadAttention(D, H, attend=lambda q, k, v, mask: q @ k.mT).double()
        with pytest.raises(ValueError, match=r"returned \(2, 3, 5, 5\).*\(2, 3, 5, 4\)"):
            scores(x)
        half = MultiHeadAttention(D, H, attend=lambda q, k, v, mask: (q + v).half()).double()
        with pytest.raises(ValueError, match=r"float16; .* \(2, 3, 5, 4\) of torch.float64"):
            half(x)

    def test_a_plugged_in_function_is_used_with_the_mask_it_needs(self, rng):
        calls = []

        def spy(query, key, value, mask):
            calls.append(mask)
            return F.scaled_dot_product_attention(query, key, value, attn_mask=mask)

        plugged = randomised(MultiHeadAttention(D, H, n_kv_heads=1, attend=spy), rng)
        ours = MultiHeadAttention(D, H, n_kv_heads=1).double()
        ours.load_state_dict(plugged.state_dict())
        x, mask = normal(rng, B, T, D), padding_mask(torch.tensor([5, 2]), T)
        out = plugged(x, mask=mask, is_causal=True)
        torch.testing.assert_close(out, ours(x, mask=mask, is_causal=True), **EXACT)
        assert calls[0].shape == (B, 1, T, T)
        torch.testing.assert_close(plugged(x, is_causal=True), ours(x, is_causal=True), **EXACT)

    def test_plug_in_rejects_positions_that_change_the_scores(self):
        with pytest.raises(ValueError, match="positions is ALiBi"):
            MultiHeadAttention(D, H, positions=ALiBi(H), attend=attend)

    def test_plug_in_rejects_a_trace(self, rng):
        attention = MultiHeadAttention(D, H, attend=attend).double()
        with pytest.raises(ValueError, match="trace is given"):
            attention(normal(rng, B, T, D), trace=[])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"d_model": 13, "n_heads": 3}, "d_model is 13; it must be a multiple of n_heads, 3"),
        ({"d_model": 12, "n_heads": 0}, "n_heads is 0; it must be at least 1"),
        ({"d_model": 12, "n_heads": 3, "n_kv_heads": 0}, "n_kv_heads is 0"),
        ({"d_model": 12, "n_heads": 3, "d_memory": 0}, "d_memory is 0"),
        ({"d_model": 12, "n_heads": 3, "dropout": -0.1}, "dropout is -0.1"),
        ({"d_model": 12, "n_heads": 3, "n_kv_heads": 2}, "n_kv_heads is 2; it must divide"),
    ],
)
def test_multi_head_attention_rejects_sizes_that_do_not_fit(arguments, message):
    with pytest.raises(ValueError, match=message):
        MultiHeadAttention(**arguments)


@pytest.fixture
def without_jaxtyping():
    """As readers run it: with checks of shapes, a test would meet those first."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize(
    ("query", "key", "value", "rule"),
    [
        ((2, 5, 4), (2, 6, 3), (2, 6, 4), "queries and keys must be equally wide"),
        ((2, 5, 4), (2, 6, 4), (2, 5, 4), "each key must have a value"),
        ((2, 5, 4), (3, 6, 4), (3, 6, 4), "all must have as many rows"),
        ((4,), (6, 4), (6, 4), "queries and keys must be equally wide"),
    ],
)
def test_attend_names_the_shapes_that_do_not_fit(without_jaxtyping, query, key, value, rule, fused):
    shapes = rf"query has shape {query}, key {key}, value {value}; {rule}"
    with pytest.raises(ValueError, match=re.escape(shapes)):
        attend(torch.ones(query), torch.ones(key), torch.ones(value), fused=fused)


@pytest.mark.parametrize("score", [attention_weights, DotScore(), ScaledDotScore()])
def test_scores_name_the_shapes_that_do_not_fit(without_jaxtyping, score):
    with pytest.raises(ValueError, match=r"query has shape \(5, 4\), key \(6, 3\); queries and"):
        score(torch.ones(5, 4), torch.ones(6, 3))


def test_memory_of_another_width_is_refused_by_name(without_jaxtyping):
    layer = MultiHeadAttention(8, 2, d_memory=6)
    with pytest.raises(ValueError, match=r"memory has shape \(1, 4, 8\).* d_memory is 6"):
        layer(torch.ones(1, 3, 8), torch.ones(1, 4, 8))


def test_cache_of_fixed_size_rejects_a_mask_and_positions_that_change_the_scores(rng):
    x = normal(rng, B, T, D)
    cache = FixedKeyValueCache(B, H, 9, K, like=x)
    with pytest.raises(ValueError, match=r"a mask is given: True.*brings its own mask"):
        MultiHeadAttention(D, H).double()(x, mask=torch.ones(1, T, 9).bool(), cache=cache)
    with pytest.raises(ValueError, match=r"positions is ALiBi.*cache of fixed size"):
        MultiHeadAttention(D, H, positions=ALiBi(H)).double()(x, cache=cache)


def test_cache_of_fixed_size_refuses_to_be_learned_through(rng):
    x = normal(rng, B, T, D)
    cache = FixedKeyValueCache(B, H, 9, D // H, like=x)
    with pytest.raises(ValueError, match=r"read within torch\.no_grad\(\), or use"):
        MultiHeadAttention(D, H).double()(x, cache=cache)


def test_cache_of_frozen_keys_lets_the_values_learn(rng):
    """As LoRA on the values alone."""
    attention = randomised(MultiHeadAttention(D, H), rng)
    attention.key.requires_grad_(False)
    x, cache = normal(rng, B, T, D), KeyValueCache()
    found = []
    for pieces in ([T], [2, T - 2]):
        attention.zero_grad()
        outs = [
            attention(p, is_causal=True, cache=cache if len(pieces) > 1 else None)
            for p in x.split(pieces, 1)
        ]
        torch.cat(outs, 1).square().sum().backward()
        found.append(attention.value.weight.grad.clone())
    torch.testing.assert_close(*found, **EXACT)


def test_selected_cache_holds_the_rows_asked_for(rng):
    cache = KeyValueCache()
    key, value = normal(rng, B, H, T, K), normal(rng, B, H, T, K)
    cache.append(key, value)
    keys, values = cache.select(torch.tensor([1, 0, 1])).pair
    assert torch.equal(keys, key[[1, 0, 1]])
    assert torch.equal(values, value[[1, 0, 1]])
    assert KeyValueCache().select(torch.tensor([0])).length == 0
