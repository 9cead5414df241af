"""The shipped GPT going on from the reader's own prompt.

Chapter: models that come with the course.
"""

from typing import Any

import numpy as np
import torch

from course_pkg.common.checks import whole_numbers
from course_pkg.decoding.samplers import next_token_probs
from course_pkg.models.gpt import GPT
from course_pkg.weights.pretrained import load_pretrained
from course_pkg.widgets.shipped import megabytes
from course_pkg.widgets.widget import Widget, show_whitespace

N_CANDIDATES = 10


def gpt_completer(
    name: str,
    *,
    prompt: str,
    alt: str,
    n_tokens: int = 24,
    temperature: float = 0.8,
    top_k: int = 40,
    top_p: float = 1.0,
    seed: int = 0,
) -> Widget:
    """Let the reader type a prompt and watch a GPT go on from it, token by token.

    The model runs in the page, and with each token come the ten that were most probable. Until the
    reader asks for it, the figure shows a continuation of `prompt`, drawn here.

    Args:
        name: a GPT that ships, such as "gpt-small".
        prompt: the beginning in the resting state.
        n_tokens: most tokens that are drawn for the resting state.
        temperature: at first, above 0, as are `top_k` and `top_p`; the reader changes them.
        top_k: most tokens that may be drawn.
        top_p: the probability that those tokens must reach together.
        seed: of the draws for the resting state.

    Raises:
        ValueError: a model that is no GPT, an empty prompt, or one that leaves no room.
    """
    trained = load_pretrained(name)
    model, tokenizer = trained.model, trained.tokenizer
    if not isinstance(model, GPT):
        raise ValueError(f"name is {name!r}, a {trained.kind}; a gpt goes on from a prompt")
    whole_numbers(n_tokens=n_tokens)
    ids = tokenizer.encode(prompt)
    room = model.context_length - n_tokens - 1
    if not 0 < len(ids) <= room:
        raise ValueError(f"prompt has {len(ids)} tokens; it must have 1 to {room}")

    cache, rng = model.new_cache(), np.random.default_rng(seed)
    settings: dict[str, Any] = {"temperature": temperature, "top_k": top_k, "top_p": top_p}
    tokens: list[str] = []
    steps: list[list[tuple[str, float]]] = []
    unread = [tokenizer.eos_id, *ids]  # as in training, a text begins behind the end of another
    while len(tokens) < n_tokens and unread != [tokenizer.eos_id]:
        with torch.no_grad():
            log_probs = model.next_log_probs(torch.tensor([unread]), cache=cache)
        p = next_token_probs(log_probs.double(), **settings)[0].numpy()
        chosen = int(rng.choice(len(p), p=p / p.sum()))
        likeliest = np.argsort(-p, kind="stable")[:N_CANDIDATES].tolist()
        if chosen not in likeliest:
            likeliest[-1] = chosen  # the reader must find the drawn token among the bars
        steps.append([(tokenizer.tokens[i], round(float(p[i]), 5)) for i in likeliest if p[i] > 0])
        tokens.append(tokenizer.tokens[chosen])
        unread = [chosen]
    rows = [
        (
            show_whitespace(token),
            f"{dict(step)[token]:.3f}",
            ", ".join(f"{show_whitespace(t)} {p:.3f}" for t, p in step),
        )
        for token, step in zip(tokens, steps, strict=True)
    ]
    return Widget(
        "lm-gpt",
        {
            "model": name,
            "megabytes": {name: megabytes(trained)},
            "prompt": prompt,
            "tokens": tokens,
            "candidates": [[list(pair) for pair in step] for step in steps],
            "settings": settings,
        },
        alt,
        ("drawn", "probability", f"the {N_CANDIDATES} most probable"),
        rows,
        models=[name],
    )
