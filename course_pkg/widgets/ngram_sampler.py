"""Texts sampled from n-gram models, with the distribution behind each token.

Chapter: n-gram models.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from course_pkg.plots import Numbers
from course_pkg.widgets.widget import Widget


@dataclass(frozen=True)
class SampledText:
    """Text drawn from a model, with the distribution from which each token was drawn."""

    method: str
    order: int
    tokens: Sequence[str]
    candidates: Sequence[Sequence[tuple[str, float]]]


def sample_text(
    next_probabilities: Callable[[list[int]], Numbers],
    tokens: Sequence[str],
    *,
    method: str,
    order: int,
    start: int,
    n_tokens: int,
    rng: np.random.Generator,
    n_candidates: int = 6,
) -> SampledText:
    """Sample from a model and keep the likeliest candidates of each step.

    Args:
        next_probabilities: maps the ids so far to the probability of each token.
        tokens: what each id stands for.
        method: name of the smoothing, as the reader chooses it.
        start: id that begins a text and, drawn again, ends it.
    """
    ids: list[int] = [start]
    drawn: list[str] = []
    steps: list[list[tuple[str, float]]] = []
    while len(drawn) < n_tokens:
        p = np.asarray(next_probabilities(ids), dtype=float)
        chosen = int(rng.choice(len(p), p=p / p.sum()))
        likeliest = np.argsort(-p, kind="stable")[:n_candidates].tolist()
        if chosen not in likeliest:
            likeliest[-1] = chosen  # the reader must find the drawn token among the bars
        steps.append([(tokens[i], round(float(p[i]), 5)) for i in likeliest if p[i] > 0])
        drawn.append(tokens[chosen])
        ids.append(chosen)
        if chosen == start:
            break
    return SampledText(method, order, drawn, steps)


def ngram_sampler(samples: Sequence[SampledText], *, alt: str, joiner: str = " ") -> Widget:
    """Let the reader choose order and smoothing, sample, and see each token's distribution.

    The samples are drawn when the chapter runs, several for each choice; pressing the button
    shows the next one.

    Args:
        joiner: what stands between two tokens: a space for words, nothing for letters.

    Raises:
        ValueError: there are no samples, or some combination of order and method has none.
    """
    if not samples:
        raise ValueError("samples is empty; draw at least one for each order and method")
    orders = sorted({sample.order for sample in samples})
    methods = list(dict.fromkeys(sample.method for sample in samples))
    have = {(sample.order, sample.method) for sample in samples}
    missing = [(o, m) for o in orders for m in methods if (o, m) not in have]
    if missing:
        raise ValueError(f"there is no sample for {missing}; draw one for each order and method")
    return Widget(
        "lm-ngram-sampler",
        {
            "orders": orders,
            "methods": methods,
            "joiner": joiner,
            "samples": [
                {
                    "order": sample.order,
                    "method": sample.method,
                    "tokens": list(sample.tokens),
                    "candidates": [[list(pair) for pair in step] for step in sample.candidates],
                }
                for sample in samples
            ],
        },
        alt,
        ("order", "smoothing", "sample"),
        [(str(sample.order), sample.method, joiner.join(sample.tokens)) for sample in samples],
    )
