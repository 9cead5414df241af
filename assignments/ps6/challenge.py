"""The open challenge of problem set 6: go on with prompts in the least CPU time.

The likeliest token is taken at every step. Where two are as likely but for rounding, either may be:
so an answer is judged by reading it once more, with the plain forward pass.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from autograder.authoring.checks import Case, Challenge, Check, Inputs, Part

from ..unseen_stories import rows_of_ids

VOCAB_SIZE, WIDTH, N_HEADS, N_BLOCKS = 512, 64, 4, 4
N_PROMPTS, N_TOKENS, LONGEST = 16, 96, 32
_TOLERANCE = 1e-3
"""How far below the likeliest the score of a token may be: rounding moves it by far less."""

Numbers = Sequence[NDArray[np.float32]]


def logits_of(numbers: Numbers, ids: Tensor) -> Tensor:
    """Return (T, V) what a GPT without biases says of each next id; ids (T,)."""
    table, positions, *blocks, last_gain = (torch.as_tensor(x) for x in numbers)
    x = table[ids] + positions[: len(ids)]
    for start in range(0, len(blocks), 6):
        gain_1, qkv, out, gain_2, wide, narrow = blocks[start : start + 6]
        heads = (F.layer_norm(x, (WIDTH,), gain_1) @ qkv.T).view(len(ids), 3, N_HEADS, -1)
        q, k, v = heads.permute(1, 2, 0, 3)  # (H, T, D / H) each
        found = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + found.transpose(0, 1).flatten(1) @ out.T
        x = x + F.gelu(F.layer_norm(x, (WIDTH,), gain_2) @ wide.T) @ narrow.T
    return F.layer_norm(x, (WIDTH,), last_gain) @ table.T


def draw_model(rng: np.random.Generator) -> list[NDArray[np.float32]]:
    """Draw the arrays of a GPT, large enough that the prompts matter."""
    wide = (4 * WIDTH, WIDTH)
    block = [(WIDTH,), (3 * WIDTH, WIDTH), (WIDTH, WIDTH), (WIDTH,), wide, wide[::-1]]
    shapes = [(VOCAB_SIZE, WIDTH), (LONGEST + N_TOKENS, WIDTH), *block * N_BLOCKS, (WIDTH,)]
    return [
        np.ones(shape, np.float32)
        if len(shape) == 1
        else (1.5 * rng.normal(size=shape) / shape[1] ** 0.5).astype(np.float32)
        for shape in shapes
    ]


def _draw(rng: np.random.Generator) -> list[Case]:
    lengths = rng.integers(4, LONGEST + 1, size=N_PROMPTS)
    prompts = [rng.integers(VOCAB_SIZE, size=n).tolist() for n in lengths]
    inputs = {"numbers": draw_model(rng), "prompts": prompts, "n_tokens": N_TOKENS}
    return [Case(f"{N_PROMPTS} prompts", inputs)]


def write(numbers: Numbers, prompts: Sequence[Sequence[int]], n_tokens: int) -> list[list[int]]:
    """Go on with each prompt, reading all of it again for every token."""
    written = []
    for prompt in prompts:
        ids = list(prompt)
        for _ in range(n_tokens):
            ids.append(int(logits_of(numbers, torch.tensor(ids))[-1].argmax()))
        written.append(ids[len(prompt) :])
    return written


def _is_likeliest(observed: Any, expected: Any, inputs: Inputs) -> str | None:
    if type(observed) is not list or any(type(row) is not list for row in observed):
        return "the result is no list of lists"
    prompts, n_tokens = inputs["prompts"], inputs["n_tokens"]
    if [len(row) for row in observed] != [n_tokens] * len(prompts):
        return "the result does not hold a list for each prompt, of as many ids as were asked for"
    for prompt, row in zip(prompts, observed, strict=True):
        if any(type(i) is not int or not 0 <= i < VOCAB_SIZE for i in row):
            return "a list holds something that is no id"
        ids = torch.tensor([*prompt, *row])
        scores = logits_of(inputs["numbers"], ids[:-1])[len(prompt) - 1 :]
        taken = scores.gather(1, ids[len(prompt) :, None])[:, 0]
        if not (taken >= scores.amax(dim=1) - _TOLERANCE).all():
            return "somewhere another token is likelier than the one that was taken"
    return None


CHALLENGE = Challenge(
    task=f"Go on with {N_PROMPTS} prompts by {N_TOKENS} tokens each, always the likeliest.",
    check=Check(
        "ps6_challenge",
        1.0,
        "write_fast",
        write,
        (
            Part(
                "prompts",
                "Every token is the likeliest after those before it.",
                _draw,
                rows_of_ids,
                judge=_is_likeliest,
            ),
        ),
        seconds=30.0,
    ),
    to_beat="everything read anew",
)
