"""One token after another, in fewer calls: the numbers of `GPT.encode`."""

from dataclasses import replace

import pytest
import torch
from torch import nn

from course_pkg.decoding.streaming import Streamer
from course_pkg.layers.low_bit import BlockLinear, RowEmbedding, RowLinear, quantise_rows
from course_pkg.models.adaptation import add_lora
from course_pkg.models.gpt import GPT, gpt_tiny, llama_like_small
from course_pkg.models.one_token import OneTokenReader

V, CONTEXT = 23, 16
CONFIG = replace(
    llama_like_small(V, CONTEXT), d_model=128, n_heads=4, n_kv_heads=2, n_layers=2, d_ff=192
)


def model_of(config=CONFIG, **choices):
    generator = torch.Generator().manual_seed(1)
    return GPT(config, init_std=0.2, generator=generator, **choices).eval()


def in_few_bits(model, kind, rng):
    """Put a layer in few bits in place of each matrix, and of the table."""
    model = model.bfloat16()
    for name, module in [*model.stack.named_modules()]:
        if isinstance(module, nn.Linear):
            few = RowLinear(*quantise_rows(module.weight.detach()))
            if kind == "blocks":
                shape = len(module.weight), module.weight.shape[1] // 32, 18
                blocks = torch.randint(256, shape, generator=rng, dtype=torch.uint8)
                scales = (0.02 * torch.randn(*shape[:2], 1, generator=rng)).half()
                blocks[..., :2] = scales.view(torch.uint8)
                few = BlockLinear(blocks.flatten(1), "Q4_0")
            model.stack.set_submodule(name, few)
    model.embedding = RowEmbedding(*quantise_rows(model.embedding.weight.detach()))
    return model


def one_by_one(encode, model, text, n_first):
    """Read the first tokens at once by the model, and the rest one by one."""
    cache = model.new_cache()
    model.encode(text[:, :n_first], cache=cache)
    found = [encode(text[:, [t]], cache=cache) for t in range(n_first, text.shape[1])]
    return torch.cat(found, dim=1), cache


@torch.no_grad()
@pytest.mark.parametrize("n_first", [1, 5])
@pytest.mark.parametrize("n_kv_heads", [1, 2, 4])
def test_numbers_are_those_of_encode(rng, n_kv_heads, n_first):
    model = model_of(replace(CONFIG, n_kv_heads=n_kv_heads)).double()
    text = torch.randint(V, (1, 9), generator=rng)
    expected = model.encode(text)[:, n_first:]
    found, cache = one_by_one(OneTokenReader(model).encode, model, text, n_first)
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)
    assert [layer.attention.length for layer in cache] == [9, 9]


@torch.no_grad()
@pytest.mark.parametrize("kind", ["rows", "blocks"])
def test_numbers_in_few_bits_are_those_of_encode(rng, kind):
    model = in_few_bits(model_of(), kind, rng)
    text = torch.randint(V, (1, 6), generator=rng)
    expected, _ = one_by_one(model.encode, model, text, 2)
    reader = OneTokenReader(model)
    found, _ = one_by_one(reader.encode, model, text, 2)
    error = (found - expected).float().norm() / expected.float().norm()
    assert error < 0.02  # bfloat16 has eight binary digits
    # The model, whose matrices are views of the reader's now, computes as before.
    assert torch.equal(one_by_one(model.encode, model, text, 2)[0], expected)


def with_hook():
    model = model_of()
    model.stack.blocks[1].attention.register_forward_hook(lambda *_: None)
    return model


def with_lora():
    model = model_of()
    add_lora(model)
    return model


@pytest.mark.parametrize(
    "make",
    [
        lambda: model_of(gpt_tiny(V)),
        lambda: model_of(replace(CONFIG, has_qk_norm=True)),
        lambda: model_of(replace(CONFIG, block="parallel")),
        lambda: model_of(attend=lambda query, key, value, mask: value),
        lambda: model_of(norm=lambda d_model: nn.Identity()),
        lambda: model_of(fused=False),
        with_hook,
        with_lora,
    ],
)
def test_what_computes_otherwise_is_left_to_encode(make):
    model = make()
    assert not OneTokenReader.fits(model)
    with pytest.raises(ValueError, match="model is no GPT of LLaMA's structure"):
        OneTokenReader(model)


def test_a_text_is_the_same_and_a_model_that_changes_is_read_anew():
    model, ids = model_of(), [3, 1, 4]
    streamer = Streamer(model)
    plain = Streamer(with_hook())
    first = list(streamer.stream(ids, 8, temperature=0))
    assert streamer._reader is not None
    assert first == list(plain.stream(ids, 8, temperature=0))
    add_lora(model)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.requires_grad:
                weight.normal_(std=0.5, generator=torch.Generator().manual_seed(len(name)))
    assert list(Streamer(model).stream([5, 9], 8, temperature=0)) == list(
        streamer.stream([5, 9], 8, temperature=0)
    )
    assert streamer._reader is None
