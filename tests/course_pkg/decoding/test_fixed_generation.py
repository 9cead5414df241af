"""Generation with a cache of fixed size, beside the one whose cache grows."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from course_pkg.decoding.generation import FixedGenerator, generate
from course_pkg.layers.caches import FixedKeyValueCache
from course_pkg.models.gpt import GPT
from course_pkg.models.transformer_config import (
    ATTENTION_POSITIONS,
    EMBEDDING_POSITIONS,
    TransformerConfig,
)

ROOT = Path(__file__).parents[3]
V, CONTEXT = 11, 13
SIZES = {"vocab_size": V, "context_length": CONTEXT, "d_model": 12, "n_heads": 3}
SIZES |= {"n_layers": 2, "d_ff": 20}
CHANGES_SCORES = [
    name
    for name, make in ATTENTION_POSITIONS.items()
    if make(TransformerConfig(**SIZES, positions=name)).changes_scores
]
"""The position schemes that a cache of fixed size cannot serve."""


def gpt(rng, **changes):
    """A float64 model whose weights are large enough for every part to matter."""
    model = GPT(TransformerConfig(**(SIZES | changes)), dropout=0.3).double()
    for weight in model.parameters():
        weight.data.normal_(std=0.4, generator=rng)
    return model


@pytest.mark.parametrize("temperature", [0, 0.9])
@pytest.mark.parametrize(
    "changes",
    [
        *(
            {"positions": positions}
            for positions in ("none", *EMBEDDING_POSITIONS, *ATTENTION_POSITIONS)
            if positions not in CHANGES_SCORES
        ),
        {"positions": "rotary", "n_kv_heads": 1},
        {"positions": "learned", "shares_layers": True, "has_qk_norm": True},
    ],
)
def test_fixed_generation_equals_generate_token_for_token(rng, changes, temperature):
    model = gpt(rng, **changes)
    fixed = FixedGenerator(model, batch_size=3, length=CONTEXT)
    for n_prompt in (4, 1):  # the second text must see nothing of the first
        ids = torch.randint(V, (3, n_prompt), generator=rng)
        settings = {"temperature": temperature, "top_k": 7, "top_p": 0.9, "min_p": 0.05}
        expected, found = (
            act(generator=torch.Generator().manual_seed(5), **settings)
            for act in (
                lambda ids=ids, **how: generate(model, ids, CONTEXT - ids.shape[1], **how),
                lambda ids=ids, **how: fixed(ids, **how),
            )
        )
        assert found.tolist() == expected.tolist()
    assert model.training  # left in the mode it had


def test_fixed_generation_fills_up_what_is_finished(rng):
    model = gpt(rng)
    ids = torch.randint(V, (4, 2), generator=rng)
    plain = generate(model, ids, CONTEXT - 2, temperature=0)
    stop_id = int(plain[0, 4])
    expected = generate(model, ids, CONTEXT - 2, temperature=0, stop_id=stop_id)
    found = FixedGenerator(model, 4, CONTEXT)(ids, temperature=0, stop_id=stop_id)
    assert found[:, : expected.shape[1]].tolist() == expected.tolist()
    assert found[0, 4:].tolist() == [stop_id] * (CONTEXT - 4)


def test_fixed_cache_of_selected_rows_grows_by_itself(rng):
    cache = FixedKeyValueCache(2, 1, 5, 3, like=torch.zeros(0, dtype=torch.float64))
    key, value = (torch.randn(2, 1, 2, 3, generator=rng, dtype=torch.float64) for _ in range(2))
    cache.append(key, value)
    chosen = cache.select(torch.tensor([1, 0, 1]))
    keys, values = chosen.append(key[[0, 0, 0]], value[[0, 0, 0]])
    assert torch.equal(keys[:, :, :2], key[[1, 0, 1]])
    assert torch.equal(values[:, :, 2:4], value[[0, 0, 0]])
    assert chosen.visible(1).tolist() == [[[True] * 5]]
    assert cache.visible(2).tolist() == [[[True] * 3 + [False] * 2, [True] * 4 + [False]]]
    twin = cache.branch()
    twin.append(key, value)
    assert (int(twin.length), int(cache.length)) == (4, 2)


@pytest.mark.parametrize(
    ("changes", "length", "message"),
    [
        ({}, CONTEXT + 1, "length is 14; it must be at most the context, 13"),
        *(({"positions": name}, CONTEXT, f"positions is '{name}'") for name in CHANGES_SCORES),
    ],
)
def test_fixed_generator_rejects_what_it_cannot_do(rng, changes, length, message):
    with pytest.raises(ValueError, match=message):
        FixedGenerator(gpt(rng, **changes), 1, length)


@pytest.mark.parametrize(
    ("shape", "message"),
    [((3, 4), "ids has 3 rows; batch_size is 2"), ((2, 0), r"ids has shape \(2, 0\)")],
)
def test_fixed_generator_rejects_prompts_that_do_not_fit(rng, shape, message):
    with pytest.raises(ValueError, match=message):
        FixedGenerator(gpt(rng), 2, CONTEXT)(torch.zeros(shape, dtype=torch.int64))


@pytest.mark.exhaustive
@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def test_compiled_gpt_equals_the_plain_one_in_value_gradient_and_text(device):
    if device == "cuda" and not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    run = subprocess.run(
        [sys.executable, "-m", "tests.course_pkg.compiled_gpt", device],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr[-3000:]
    found = json.loads(run.stdout.splitlines()[-1])
    assert found["largest"] < 1e-4  # float32, summed in another order
    assert found["texts_equal"]
