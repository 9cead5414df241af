"""The shipped GPT going on from the reader's own prompt.

Chapter: models that come with the course.
"""

import numpy as np
import torch

from course_pkg.decoding.samplers import next_token_probs
from course_pkg.models.gpt import GPT
from course_pkg.pretrained import load_pretrained
from course_pkg.widgets.ngram_sampler import sample_text
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
    ids = tokenizer.encode(prompt)
    room = model.context_length - n_tokens
    if not 0 < len(ids) <= room:
        raise ValueError(f"prompt has {len(ids)} tokens; it must have 1 to {room}")

    cache = model.new_cache()

    @torch.no_grad()
    def next_probabilities(written: list[int]) -> torch.Tensor:
        unread = written[-1:] if len(written) > 1 else ids  # the first is the sampler's own eos
        log_probs = model.next_log_probs(torch.tensor([unread]), cache=cache)
        return next_token_probs(
            log_probs.double(), temperature=temperature, top_k=top_k, top_p=top_p
        )[0]

    sample = sample_text(
        next_probabilities,
        tokenizer.tokens,
        method=name,
        order=model.context_length,
        start=tokenizer.eos_id,
        n_tokens=n_tokens,
        rng=np.random.default_rng(seed),
        n_candidates=N_CANDIDATES,
    )
    rows = [
        (
            show_whitespace(token),
            f"{dict(step)[token]:.3f}",
            ", ".join(f"{show_whitespace(t)} {p:.3f}" for t, p in step),
        )
        for token, step in zip(sample.tokens, sample.candidates, strict=True)
    ]
    return Widget(
        "lm-gpt",
        {
            "model": name,
            "megabytes": {name: megabytes(trained)},
            "prompt": prompt,
            "tokens": list(sample.tokens),
            "candidates": [[list(pair) for pair in step] for step in sample.candidates],
            "settings": {"temperature": temperature, "top_k": top_k, "top_p": top_p},
        },
        alt,
        ("drawn", "probability", f"the {N_CANDIDATES} most probable"),
        rows,
        models=[name],
    )
