"""An n-gram model that counts, smooths and samples in the page, from a prompt of the reader's own.

Chapter: n-gram models.
"""

from collections.abc import Sequence
from typing import Any

import torch

from course_pkg.decoding.generation import generate
from course_pkg.models.ngram import MLE, AddK, ModifiedKneserNey, NGram, Smoothing
from course_pkg.text.tokenizers.words_characters_bytes import WordTokenizer
from course_pkg.widgets.widget import Widget

ORDERS, UNITS = (1, 2, 3, 4, 5, 6), ("words", "letters")
METHODS: dict[str, Smoothing] = {
    "modified Kneser–Ney": ModifiedKneserNey(),
    "add-one": AddK(1),
    "none": MLE(),
}
"""What the script knows under the same names; a test compares its distributions with ours."""

N_TOKENS = 24


def ngram_sampler(
    texts: Sequence[str], *, prompt: str, order: int = 3, unit: str = "words", alt: str
) -> Widget:
    """Let the reader sample from n-gram models of some texts and see each token's distribution.

    The texts travel with the page. Its script counts their words or letters, smooths as the reader
    chooses and continues the reader's prompt; it can count a text of the reader's as well.

    Args:
        texts: what is counted, one document each.
        prompt: what stands in the field at first; its words must occur in the texts.
        order: how many tokens an n-gram has at first, one of `ORDERS`.
        unit: what is a token at first, one of `UNITS`. The table is of words.

    Raises:
        ValueError: no text, another order or unit, or a word in the prompt that the texts lack.
    """
    if not any(text.strip() for text in texts):
        raise ValueError("texts is empty; give at least one word to count")
    if order not in ORDERS:
        raise ValueError(f"order is {order}; it must be one of {ORDERS}")
    if unit not in UNITS:
        raise ValueError(f"unit is {unit!r}; it must be one of {UNITS}")
    words = WordTokenizer.train(texts, unk=None)
    ids = [words.eos_id, *words.encode(prompt)]
    documents = [words.encode(text) for text in texts]
    rows = []
    for name, smoothing in METHODS.items():
        for n in ORDERS:
            model = NGram.fit(documents, n, words.vocab_size, words.eos_id, smoothing)
            rows.append((str(n), name, words.decode(_continued(model, ids))))
    return Widget(
        "lm-ngram-sampler",
        {"texts": list(texts), "prompt": prompt, "orders": list(ORDERS), "order": order,
         "methods": list(METHODS), "unit": unit},
        alt,
        ("order", "smoothing", "a sample"),
        rows,
    )  # fmt: skip


def _continued(model: Any, ids: list[int]) -> list[int]:
    """Return the prompt with up to `N_TOKENS` sampled tokens; without smoothing, fewer."""
    generator = torch.Generator().manual_seed(model.order)
    for _ in range(N_TOKENS):
        if not model.next_log_probs(torch.tensor([ids])).isfinite().any():
            break  # a history that was never seen: relative frequencies have no next token
        (ids,) = generate(model, torch.tensor([ids]), 1, generator=generator).tolist()  # type: ignore[arg-type]
        if ids[-1] == model.eos_id:
            break
    return ids[1:]
