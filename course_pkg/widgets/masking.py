"""BERT's masking rule on the reader's own sentence, drawn as often as the reader likes.

Chapter: BERT.
"""

import re
from collections.abc import Sequence

import torch

from course_pkg.common.checks import whole_numbers
from course_pkg.models import IGNORE
from course_pkg.text.batches.masking import choose_tokens, mask_tokens
from course_pkg.widgets.widget import Widget

WORD = r"[^\W_]+(?:['’][^\W_]+)*|[^\w\s]"
"""A word with its apostrophes, or one mark; the script cuts by the same rule."""

RATES = (0.05, 0.15, 0.4)
MOST_WORDS = 40


def masking_rule(
    text: str, *, pool: Sequence[str], rate: float = 0.15, seed: int = 0, alt: str
) -> Widget:
    """Let the reader draw masks for a sentence: what is asked, and what stands there instead.

    The first draw is made here, by the package's own masking; the page makes all others afresh.

    Args:
        text: what stands in the field at first, up to `MOST_WORDS` words.
        pool: words that may take the place of others.
        rate: share of the words that is asked, one of `RATES`.
        seed: of the first draw.

    Raises:
        ValueError: no word or too many, an empty pool, or another rate.
    """
    words = re.findall(WORD, text)
    if not 1 <= len(words) <= MOST_WORDS:
        raise ValueError(f"text has {len(words)} words; it must have 1 to {MOST_WORDS}")
    if not pool:
        raise ValueError("pool is empty; random words are drawn from it")
    if rate not in RATES:
        raise ValueError(f"rate is {rate}; it must be one of {RATES}")
    whole_numbers(at_least=0, seed=seed)
    tokens = ["[MASK]", *dict.fromkeys([*pool, *words])]
    ids = torch.tensor([[tokens.index(word) for word in words]])
    generator = torch.Generator().manual_seed(seed)
    chosen = choose_tokens(torch.ones_like(ids, dtype=torch.bool), rate, generator)
    seen, targets = mask_tokens(
        ids, chosen, vocab_size=len(tokens), mask_id=0, special_ids=(), generator=generator
    )
    drawn = [
        (word, tokens[now], asked != IGNORE)
        for word, now, asked in zip(words, seen[0].tolist(), targets[0].tolist(), strict=True)
    ]
    return Widget(
        "lm-masking",
        {"text": text, "pool": list(pool), "rate": rate, "rates": RATES, "most": MOST_WORDS,
         "drawn": [(now, is_asked) for _, now, is_asked in drawn]},
        alt,
        ("word", "what the model reads", "what it is asked for"),
        [(word, now, word if is_asked else "–") for word, now, is_asked in drawn],
    )  # fmt: skip
