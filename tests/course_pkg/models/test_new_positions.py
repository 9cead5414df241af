"""A position scheme that the package does not know: a class and one entry of a table make it whole.

The scheme is KERPLE with logarithms (Chi et al. 2022, eq. 4): a penalty of r log(1 + distance).
"""

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from course_pkg.decoding.generation import FixedGenerator
from course_pkg.layers.positions import AttentionPositions, RotaryPositions
from course_pkg.models.gpt import GPT, gpt_tiny
from course_pkg.models.transformer_config import ATTENTION_POSITIONS, TransformerConfig

B, T, V, H = 2, 7, 11, 3
EXACT = {"rtol": 1e-10, "atol": 1e-10}


class LogDistances(AttentionPositions):
    def __init__(self, n_heads):
        super().__init__()
        self.rates = nn.Parameter(torch.linspace(0.5, 2.0, n_heads))

    def bias(self, query, key):
        places = torch.arange(key.shape[2], device=query.device)
        distances = (places[-query.shape[2] :, None] - places).abs()
        return -self.rates[:, None, None] * (1 + distances).log()


@pytest.fixture
def config(monkeypatch):
    monkeypatch.setitem(ATTENTION_POSITIONS, "kerple", lambda config: LogDistances(config.n_heads))
    sizes = {"vocab_size": V, "context_length": 9, "d_model": 12, "n_heads": H}
    return TransformerConfig(**sizes, n_layers=2, d_ff=20, positions="kerple")


def written_by_hand(query, key, value, mask):
    places = torch.arange(T)
    penalties = (1 + (places[:, None] - places).abs()).log()
    bias = -torch.linspace(0.5, 2.0, H).double()[:, None, None] * penalties
    return F.scaled_dot_product_attention(
        query, key, value, attn_mask=bias.masked_fill(~mask, -torch.inf)
    )


def kerple_gpt(rng, config, **options):
    model = GPT(config, **options).double()
    for name, parameter in model.named_parameters():
        if not name.endswith("rates"):
            parameter.data.normal_(std=0.4, generator=rng)
    return model


@pytest.mark.parametrize("fused", [False, True])
def test_new_scheme_equals_attention_written_by_hand(rng, config, fused):
    model = kerple_gpt(rng, config, fused=fused)
    plain = TransformerConfig(**(vars(config) | {"positions": "none"}))
    oracle = GPT(plain, attend=written_by_hand).double()
    oracle.load_state_dict({k: v for k, v in model.state_dict().items() if "rates" not in k})
    ids = torch.randint(V, (B, T), generator=rng)
    torch.testing.assert_close(model(ids)[0], oracle(ids)[0], **EXACT)


def test_new_scheme_learns_and_works_with_a_cache(rng, config):
    model = kerple_gpt(rng, config)
    ids = torch.randint(V, (B, T), generator=rng)
    logits, loss = model(ids, ids.roll(-1, dims=1))
    loss.backward()
    assert all(p.grad.abs().max() > 1e-9 for n, p in model.named_parameters() if "rates" in n)
    cache = model.new_cache()
    pieces = [model(piece, cache=cache)[0] for piece in ids.split([3, 1, 3], dim=1)]
    torch.testing.assert_close(torch.cat(pieces, dim=1), logits, **EXACT)


def test_new_scheme_is_refused_where_scores_may_not_change(config):
    with pytest.raises(ValueError, match="positions is LogDistances; with an attend function"):
        GPT(config, attend=written_by_hand)
    with pytest.raises(ValueError, match="positions is 'kerple'; use generate"):
        FixedGenerator(GPT(config), batch_size=1, length=5)


def test_rotary_angles_are_computed_once_for_all_layers_queries_and_keys(rng, monkeypatch):
    calls = []

    def spy(self, T, offset=0, device=None):
        calls.append((T, offset))
        return rotation(self, T, offset, device)

    rotation = RotaryPositions.rotation
    monkeypatch.setattr(RotaryPositions, "rotation", spy)
    model = GPT(TransformerConfig(**(vars(gpt_tiny(V)) | {"positions": "rotary", "n_layers": 3})))
    cache = model.new_cache()
    for piece in torch.randint(V, (B, T), generator=rng).split([5, 2], dim=1):
        model(piece, cache=cache)
    assert calls == [(5, 0), (2, 5)]
