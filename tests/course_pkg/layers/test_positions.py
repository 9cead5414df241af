import math

import pytest
import torch
from transformers import LlamaConfig
from transformers.models.bloom.modeling_bloom import build_alibi_tensor
from transformers.models.distilbert.modeling_distilbert import create_sinusoidal_embeddings
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding, apply_rotary_pos_emb

from course_pkg.layers.attention import MultiHeadAttention
from course_pkg.layers.positions import (
    ALiBi,
    LearnedPositions,
    RelativePositions,
    RotaryPositions,
    SinusoidalPositions,
    alibi_slopes,
)

B, T, H = 2, 5, 3
EXACT = {"rtol": 1e-10, "atol": 1e-10}
# Angles are float32, as everywhere; a distance of some hundreds leaves about five digits of them.
ANGLES = {"rtol": 0, "atol": 1e-4}


def normal(rng, *shape):
    return torch.randn(*shape, generator=rng, dtype=torch.float64)


class TestLearned:
    def test_learned_positions_start_at_the_offset(self, rng):
        positions = LearnedPositions(context_length=9, d_model=6).double()
        x = normal(rng, B, T, 6)
        torch.testing.assert_close(
            positions(x, offset=4), x + positions.table(torch.arange(4, 9)), **EXACT
        )

    @pytest.mark.parametrize(("offset", "end"), [(0, 5), (2, 7)])
    def test_learned_positions_reject_what_lies_beyond_the_table(self, offset, end):
        positions = LearnedPositions(context_length=4, d_model=6)
        with pytest.raises(ValueError, match=f"position {end}; it must end by 4"):
            positions(torch.zeros(B, T, 6), offset)


class TestSinusoidal:
    @pytest.mark.parametrize(("n_positions", "d_model"), [(11, 6), (5, 14)])
    def test_waves_match_transformers(self, n_positions, d_model):
        expected = torch.empty(n_positions, d_model)
        create_sinusoidal_embeddings(n_positions, d_model, expected)
        waves = SinusoidalPositions(d_model).waves(n_positions)
        # float32 angles of up to ten radians
        torch.testing.assert_close(waves, expected, rtol=0, atol=2e-6)

    def test_waves_are_those_of_the_paper(self):
        waves = SinusoidalPositions(4).waves(2, offset=3)
        expected = [math.sin(4), math.cos(4), math.sin(4 / 100), math.cos(4 / 100)]
        torch.testing.assert_close(waves[1], torch.tensor(expected), rtol=0, atol=1e-6)  # float32

    def test_products_of_waves_depend_only_on_distance(self):
        waves = SinusoidalPositions(14).waves(200)
        products = waves @ waves.T
        for distance in (0, 1, 17):
            diagonal = products.diagonal(distance)
            torch.testing.assert_close(diagonal, diagonal[:1].expand_as(diagonal), **ANGLES)

    def test_embeddings_are_scaled_before_positions_are_added(self, rng):
        positions = SinusoidalPositions(16)
        x = normal(rng, B, T, 16)
        expected = 4 * x + positions.waves(T, 3).double()
        torch.testing.assert_close(positions(x, offset=3), expected, **EXACT)

    def test_sinusoidal_positions_reject_odd_widths(self):
        with pytest.raises(ValueError, match="d_model is 7; it must be even"):
            SinusoidalPositions(7)


class TestRotary:
    @pytest.mark.parametrize(("offset", "d_head", "base"), [(0, 6, 10_000.0), (300, 10, 500.0)])
    def test_rotation_matches_transformers(self, rng, offset, d_head, base):
        query, key = normal(rng, B, H, T, d_head), normal(rng, B, 1, T, d_head)
        config = LlamaConfig(
            head_dim=d_head, rope_parameters={"rope_type": "default", "rope_theta": base}
        )
        ids = torch.arange(offset, offset + T)[None]
        cos, sin = LlamaRotaryEmbedding(config)(query, ids)
        expected = apply_rotary_pos_emb(query, key, cos, sin)
        rotary = RotaryPositions(d_head, base)
        torch.testing.assert_close(rotary(query, offset), expected[0], **EXACT)
        torch.testing.assert_close(rotary(key, offset), expected[1], **EXACT)

    def test_scores_of_rotated_vectors_depend_only_on_distance(self, rng):
        rotary = RotaryPositions(6)
        query, key = normal(rng, 1, 1, 1, 6), normal(rng, 1, 1, 1, 6)
        scores = {
            (m, n): (rotary(query, m) * rotary(key, n)).sum()
            for m, n in [(5, 2), (205, 202), (2, 5), (3, 0), (0, 3)]
        }
        torch.testing.assert_close(scores[5, 2], scores[205, 202], **ANGLES)
        torch.testing.assert_close(scores[5, 2], scores[3, 0], **ANGLES)
        torch.testing.assert_close(scores[2, 5], scores[0, 3], **ANGLES)
        assert (scores[5, 2] - scores[2, 5]).abs() > 1e-2  # before is not after

    def test_rotation_keeps_lengths_and_leaves_the_first_position_alone(self, rng):
        x = normal(rng, B, H, T, 6)
        turned = RotaryPositions(6)(x)
        # cos^2 + sin^2 = 1 to float32 precision
        torch.testing.assert_close(turned.norm(dim=-1), x.norm(dim=-1), rtol=1e-6, atol=0)
        assert torch.equal(turned[:, :, 0], x[:, :, 0])

    def test_rotary_positions_reject_odd_heads(self):
        with pytest.raises(ValueError, match="d_head is 5; it must be even"):
            RotaryPositions(5)


class TestALiBi:
    def test_slopes_match_the_published_ones_for_eight_heads(self):
        assert alibi_slopes(8).tolist() == [2.0**-h for h in range(1, 9)]

    @pytest.mark.parametrize("n_heads", [8, 6])
    def test_causal_weights_match_transformers(self, n_heads):
        oracle = build_alibi_tensor(torch.ones(1, T, dtype=torch.int64), n_heads, torch.float32)
        past = torch.ones(T, T, dtype=torch.bool).tril()
        # BLOOM adds slope * key position: in each row the same as ours up to a constant.
        expected = oracle.view(n_heads, 1, T).expand(-1, T, -1).masked_fill(~past, -torch.inf)
        ours = ALiBi(n_heads).bias(*torch.zeros(2, 1, n_heads, T, 4))
        ours = ours.masked_fill(~past, -torch.inf)
        # float32 slopes
        torch.testing.assert_close(ours.softmax(-1), expected.softmax(-1), rtol=0, atol=1e-6)

    def test_bias_is_a_penalty_that_grows_with_distance(self):
        bias = ALiBi(2).bias(torch.zeros(1, 2, 2, 4), torch.zeros(1, 2, 4, 4))
        assert bias[0].tolist() == [[-2 / 16, -1 / 16, 0, -1 / 16], [-3 / 16, -2 / 16, -1 / 16, 0]]

    @pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
    def test_bias_keeps_every_distance_apart_in_low_precision(self, dtype):
        query, key = (torch.zeros(1, 8, n, 4, dtype=dtype) for n in (1, 2048))
        bias = ALiBi(8).bias(query, key)
        assert len(bias[0].unique()) == 2048


class TestRelative:
    @pytest.mark.parametrize("max_distance", [2, 9])
    def test_attention_follows_the_equations_of_the_paper(self, rng, max_distance):
        d_head = 4
        positions = RelativePositions(d_head, max_distance)
        attention = MultiHeadAttention(d_head, 1, positions=positions).double()
        for parameter in attention.parameters():
            parameter.data.normal_(generator=rng)
        x = normal(rng, 1, T, d_head)
        query, key, value = (
            part(x)[0] for part in (attention.query, attention.key, attention.value)
        )

        def clip(distance):
            return max(-max_distance, min(distance, max_distance)) + max_distance

        rows = []
        for i in range(T):
            keys = [key[j] + positions.key_table.weight[clip(j - i)] for j in range(T)]
            scores = torch.stack([query[i] @ k for k in keys]) / math.sqrt(d_head)  # eq. 4
            weights = scores.softmax(-1)
            values = [value[j] + positions.value_table.weight[clip(j - i)] for j in range(T)]
            rows.append(sum(w * v for w, v in zip(weights, values, strict=True)))  # eq. 3
        expected = attention.output(torch.stack(rows))
        torch.testing.assert_close(attention(x)[0], expected, **EXACT)

    def test_far_positions_share_a_vector(self, rng):
        positions = RelativePositions(4, max_distance=2).double()
        query = normal(rng, 1, H, 1, 4).expand(1, H, T, 4)
        bias = positions.bias(query, query)[0, 0]
        assert bias[4, 0] == bias[4, 1] == bias[4, 2] == bias[3, 0]
        assert bias[4, 2] != bias[4, 3]
