"""The language model of attention alone: its formula, what it cannot see, and what it learns."""

import itertools

import pytest
import torch
from torch.nn import functional as F

from course_pkg.layers.blocks import Trace
from course_pkg.layers.positions import RotaryPositions
from course_pkg.models import IGNORE
from course_pkg.models.attention import AttentionLM

V, D, H, B, T = 7, 12, 3, 2, 5
EXACT = {"rtol": 1e-10, "atol": 1e-10}  # float64 sums of a few dozen terms


def small(rng, **settings) -> AttentionLM:
    return AttentionLM(V, D, H, generator=rng, **settings).double().eval()


def texts(rng, n=B, length=T):
    return torch.randint(V, (n, length), generator=rng)


def test_attention_lm_matches_torch(rng):
    """The same by torch's own attention, one layer, weights copied."""
    model, ids = small(rng), texts(rng)
    layer = model.layers[0]
    oracle = torch.nn.MultiheadAttention(D, H, batch_first=True).double()
    parts = (layer.query, layer.key, layer.value)
    oracle.in_proj_weight.data = torch.cat([part.weight.data for part in parts])
    oracle.in_proj_bias.data = torch.cat([part.bias.data for part in parts])
    oracle.out_proj.load_state_dict(layer.output.state_dict())
    x = model.embedding(ids)
    hidden_from = torch.ones(T, T, dtype=torch.bool).triu(1)
    expected = model.output(x + oracle(x, x, x, attn_mask=hidden_from)[0])
    targets = texts(rng)
    targets[0, 1] = IGNORE
    logits, loss = model(ids, targets)
    torch.testing.assert_close(logits, expected, **EXACT)
    expected_loss = F.cross_entropy(expected.flatten(0, 1), targets.flatten())
    torch.testing.assert_close(loss, expected_loss, **EXACT)


@pytest.mark.parametrize("n_layers", [1, 2])
def test_attention_lm_ignores_the_future(n_layers, rng):
    model, ids = small(rng, n_layers=n_layers), texts(rng)
    changed = ids.clone()
    changed[:, 3:] = (changed[:, 3:] + 1) % V
    torch.testing.assert_close(model(changed)[0][:, :3], model(ids)[0][:, :3], **EXACT)
    assert not torch.allclose(model(changed)[0][:, 3:], model(ids)[0][:, 3:])


def test_one_layer_without_positions_cannot_see_the_order_of_the_history(rng):
    model = small(rng)
    history = [0, 3, 5, 1]
    orders = [[*order, 6] for order in itertools.permutations(history)]
    log_probs = model.next_log_probs(torch.tensor(orders))
    torch.testing.assert_close(log_probs, log_probs[:1].expand_as(log_probs), **EXACT)


@pytest.mark.parametrize(
    "settings",
    [{"n_layers": 2}, {"positions": RotaryPositions(D // H)}],
    ids=["two layers", "positions"],
)
def test_a_second_layer_or_positions_see_the_order(settings, rng):
    """The causal mask lets the first layer's vectors differ by place, and the second reads them."""
    model = small(rng, **settings)
    first, second = model.next_log_probs(torch.tensor([[0, 3, 5, 6], [3, 0, 5, 6]]))
    assert not torch.allclose(first, second, atol=1e-4)


def test_attention_lm_leaves_the_weights_of_each_layer_in_a_trace(rng):
    model, trace = small(rng, n_layers=2), Trace()
    model(texts(rng), trace=trace)
    assert [tuple(w.shape) for w in trace.attention] == [(B, H, T, T)] * 2
    for weights in trace.attention:
        torch.testing.assert_close(weights.sum(-1), torch.ones(B, H, T).double(), **EXACT)
        assert not weights.triu(1).any()


def test_attention_lm_learns_to_find_what_it_saw_before(rng):
    """A token comes back after any others: a state must carry it, attention looks it up."""
    generator = torch.Generator().manual_seed(5)
    model = AttentionLM(12, 16, 2, generator=generator)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    loss = torch.tensor(0.0)
    for _ in range(150):
        # one of the tokens 1 to 4 among noise 5 to 10, then 11 asks for it
        ids = torch.randint(5, 11, (32, 9), generator=generator)
        key = torch.randint(1, 5, (32,), generator=generator)
        ids[torch.arange(32), torch.randint(8, (32,), generator=generator)] = key
        ids[:, -1] = 11
        targets = torch.full_like(ids, IGNORE)
        targets[:, -1] = key
        _, loss = model(ids, targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert loss < 0.05  # ln 4 = 1.39 without a look


def test_attention_lm_rejects_bad_input(rng):
    with pytest.raises(ValueError, match="n_layers is 0; it must be at least 1"):
        AttentionLM(V, D, H, n_layers=0)
    with pytest.raises(ValueError, match="ids has 9; the vocabulary has 7 tokens"):
        small(rng)(torch.tensor([[9]]))
