"""The readable GPT and its attention, against their full twins and against torch."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from course_pkg.layers.attention import MultiHeadAttention
from course_pkg.layers.plain_attention import PlainAttention
from course_pkg.models import IGNORE
from course_pkg.models.gpt import GPT, gpt_tiny
from course_pkg.models.plain_gpt import PlainGPT

B, T, H, K = 2, 5, 3, 4
D = H * K
EXACT = {"rtol": 1e-10, "atol": 1e-10}


def randomised(module, rng):
    module.double()
    for parameter in module.parameters():
        parameter.data.normal_(std=0.5, generator=rng)
    return module


def values_and_gradients(module, act, x):
    out = act(module, x)
    return [out, *torch.autograd.grad(out.square().sum(), [x, *module.parameters()])]


def causal(module, x):
    return module(x, is_causal=True)


@pytest.mark.parametrize("fused", [False, True])
def test_plain_attention_equals_the_full_one_in_values_and_gradients(rng, fused):
    plain = randomised(PlainAttention(D, H), rng)
    full = MultiHeadAttention(D, H, fused=fused).double()
    full.load_state_dict(plain.state_dict())
    x = torch.randn(B, T, D, generator=rng, dtype=torch.float64).requires_grad_()
    pairs = zip(
        values_and_gradients(plain, PlainAttention.forward, x),
        values_and_gradients(full, causal, x),
        strict=True,
    )
    for ours, theirs in pairs:
        torch.testing.assert_close(ours, theirs, **EXACT)


def test_plain_attention_matches_torch_in_values_and_gradients(rng):
    plain = randomised(PlainAttention(D, H), rng)
    oracle = nn.MultiheadAttention(D, H, batch_first=True).double()
    parts = (plain.query, plain.key, plain.value)
    oracle.in_proj_weight.data = torch.cat([part.weight.data for part in parts])
    oracle.in_proj_bias.data = torch.cat([part.bias.data for part in parts])
    oracle.out_proj.load_state_dict(plain.output.state_dict())
    x = torch.randn(B, T, D, generator=rng, dtype=torch.float64).requires_grad_()
    expected, _ = oracle(x, x, x, attn_mask=torch.ones(T, T, dtype=torch.bool).triu(1))
    out = plain(x)
    torch.testing.assert_close(out, expected, **EXACT)
    ours = torch.autograd.grad(out.square().sum(), [x, *(part.weight for part in parts)])
    theirs = torch.autograd.grad(expected.square().sum(), [x, oracle.in_proj_weight])
    torch.testing.assert_close(ours[0], theirs[0], **EXACT)
    torch.testing.assert_close(torch.cat(ours[1:]), theirs[1], **EXACT)


def test_plain_attention_follows_scaled_dot_product_attention(rng):
    plain = randomised(PlainAttention(D, 1), rng)
    x = torch.randn(B, T, D, generator=rng, dtype=torch.float64)
    heads = F.scaled_dot_product_attention(
        plain.query(x), plain.key(x), plain.value(x), is_causal=True
    )
    torch.testing.assert_close(plain(x), plain.output(heads), **EXACT)


def test_plain_gpt_with_the_weights_of_a_gpt_equals_it(rng):
    full = randomised(GPT(gpt_tiny(vocab_size=11, context_length=7)), rng)
    plain = PlainGPT(vocab_size=11, context_length=7, d_model=64, n_heads=4, n_layers=2).double()
    plain.load_state_dict(full.state_dict())
    ids, targets = torch.randint(11, (2, B, T), generator=rng)
    targets[0, 2] = IGNORE
    results = [model(ids, targets) for model in (plain, full)]
    for ours, theirs in zip(*results, strict=True):
        torch.testing.assert_close(ours, theirs, **EXACT)
    gradients = [
        torch.autograd.grad(loss, list(model.parameters()))
        for model, (_, loss) in zip((plain, full), results, strict=True)
    ]
    for ours, theirs in zip(*gradients, strict=True):
        torch.testing.assert_close(ours, theirs, **EXACT)
    assert [name for name, _ in plain.named_parameters()] == [n for n, _ in full.named_parameters()]
