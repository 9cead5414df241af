"""What temperature, top-k, top-p and min-p leave of a shipped GPT's next-token distribution.

Chapter: GPT.
"""

from collections.abc import Sequence
from typing import Any

import torch

from course_pkg.decoding.samplers import next_token_probs
from course_pkg.models.gpt import GPT
from course_pkg.weights.pretrained import load_pretrained
from course_pkg.widgets.shipped import megabytes
from course_pkg.widgets.widget import Widget, show_whitespace

SETTINGS: dict[str, Any] = {"temperature": 1.0, "top_k": 40, "top_p": 0.9, "min_p": 0.05}
"""What the sliders begin with."""

N_SHOWN = 12


def truncation(name: str, *, prompts: Sequence[str], alt: str) -> Widget:
    """Let the reader move four sliders and see which tokens may still be drawn after a prompt.

    The figure has all logits of the given prompts, in hundredths; for a prompt of the reader's own
    it fetches the model.

    Args:
        name: a GPT that ships, such as "gpt-small".
        prompts: the beginnings to choose from, at least one.

    Raises:
        ValueError: a model that is no GPT, no prompt, or one that is empty or longer than the
            context.
    """
    trained = load_pretrained(name)
    model, tokenizer = trained.model, trained.tokenizer
    if not isinstance(model, GPT):
        raise ValueError(f"name is {name!r}, a {trained.kind}; a gpt predicts a next token")
    if not prompts:
        raise ValueError("prompts is empty; give at least one")
    cases, rows = [], []
    for prompt in prompts:
        ids = tokenizer.encode(prompt)
        room = model.context_length - 1  # a text begins with <eos>
        if not 0 < len(ids) <= room:
            raise ValueError(f"prompt {prompt!r} has {len(ids)} tokens; it must have 1 to {room}")
        with torch.no_grad():
            logits = model(torch.tensor([[tokenizer.eos_id, *ids]]))[0][0, -1].double()
        ranked, order = (100 * logits).round().sort(descending=True)
        # Neighbours differ by little, so the differences are much shorter to write than the logits.
        drops = [int(drop) for drop in (ranked[:-1] - ranked[1:]).tolist()]
        tokens = [tokenizer.tokens[i] for i in order[:N_SHOWN].tolist()]
        cases.append({"prompt": prompt, "drops": drops, "tokens": tokens})
        before = next_token_probs(logits[None], temperature=SETTINGS["temperature"])
        for rule in ("top_k", "top_p", "min_p"):
            kept = next_token_probs(logits[None], **{rule: SETTINGS[rule]}) > 0
            rows.append(
                (
                    prompt,
                    f"{rule.replace('_', '-')} {SETTINGS[rule]:g}",
                    f"{int(kept.sum()):,}",
                    f"{float(before[kept].sum()):.3f}",
                )
            )
        likeliest = zip(tokens, before.flatten()[order].tolist(), strict=False)
        listed = ", ".join(f"{show_whitespace(token)} {p:.3f}" for token, p in likeliest)
        rows.append((prompt, f"the {N_SHOWN} most probable", listed, ""))
    return Widget(
        "lm-truncation",
        {
            "model": name,
            "megabytes": {name: megabytes(trained)},
            "cases": cases,
            "settings": SETTINGS,
            "shown": N_SHOWN,
        },
        alt,
        ("after", "rule", "tokens that may be drawn", "their probability before"),
        rows,
        models=[name],
    )
