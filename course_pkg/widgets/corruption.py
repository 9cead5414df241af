"""What each objective of pretraining makes of the reader's own sentence: input and target.

Chapter: encoder-decoders.
"""

import re

import torch

from course_pkg.text.batches.batching import IGNORE
from course_pkg.text.batches.masking import (
    choose_tokens,
    mask_tokens,
    random_spans,
    spans_to_sentinels,
)
from course_pkg.text.batches.noising import (
    delete_tokens,
    infill_spans,
    permute_sentences,
    rotate,
)
from course_pkg.text.tokenizers import EOS
from course_pkg.text.tokenizers.words_characters_bytes import WORD_PATTERN
from course_pkg.widgets.widget import Widget

OBJECTIVES = (
    "causal LM",
    "prefix LM",
    "BERT masking",
    "span corruption",
    "BART infilling",
    "BART deletion",
    "BART permutation",
    "BART rotation",
)
"""In the order in which the figure offers them."""

RATE, BART_RATE, MEAN_LENGTH, SHARES = 0.15, 0.3, 3.0, (0.8, 0.1)
"""Shares of the words that are hidden; words in a span; masks and random words among the hidden."""

MASK, NOTHING, N_SENTINELS = "[MASK]", "·", 100
ENDS = ".!?"


def corruption_chooser(
    *, text: str, alt: str, objective: str = "span corruption", seed: int = 0
) -> Widget:
    """Let the reader type a sentence, choose an objective, and draw inputs and targets from it.

    Words stand for tokens. What is drawn in the page is drawn there; the figure begins with `text`,
    corrupted here.

    Args:
        text: a sentence or a few, of two words at least.
        objective: one of `OBJECTIVES`, chosen at first.
        seed: of the draws for `text`.

    Raises:
        ValueError: an unknown objective, or a text too short to hide a word and keep another.
    """
    words = re.findall(WORD_PATTERN, text)
    if objective not in OBJECTIVES:
        raise ValueError(f"objective is {objective!r}; it must be one of {OBJECTIVES}")
    if len(words) < 2:
        raise ValueError(f"text has {len(words)} words; one must be kept and one hidden")
    generator = torch.Generator().manual_seed(seed)
    views = {name: _corrupt(words, name, generator) for name in OBJECTIVES}
    return Widget(
        "lm-corruption",
        {
            "text": text,
            "objective": objective,
            "views": {name: {"input": a, "target": b} for name, (a, b) in views.items()},
            "rate": RATE,
            "bart_rate": BART_RATE,
            "mean_length": MEAN_LENGTH,
            "shares": SHARES,
            "eos": EOS,
            "mask": MASK,
            "nothing": NOTHING,
            "ends": ENDS,
        },
        alt,
        ("objective", "input", "target"),
        [(name, " ".join(a) or "nothing", " ".join(b)) for name, (a, b) in views.items()],
    )


def _corrupt(
    words: list[str], objective: str, generator: torch.Generator
) -> tuple[list[str], list[str]]:
    """Return input and target of one draw, as words, sentinels and masks."""
    ids = list(range(len(words)))
    mask_id, first_sentinel = len(words), len(words) + 1
    sentinels = [f"<{n}>" for n in range(N_SENTINELS)]
    names = [*words, MASK, *sentinels]
    target = ids
    match objective:
        case "causal LM":
            source: list[int] = []
        case "prefix LM":
            cut = 1 + int(torch.randint(len(ids) - 1, (), generator=generator))
            source, target = ids[:cut], ids[cut:]
        case "BERT masking":
            row = torch.tensor([ids])
            chosen = choose_tokens(torch.ones_like(row, dtype=torch.bool), RATE, generator)
            seen, expected = mask_tokens(
                row,
                chosen,
                vocab_size=len(words) + 1,
                mask_id=mask_id,
                special_ids=[],
                generator=generator,
                shares=SHARES,
            )
            answers = [NOTHING if i == IGNORE else words[i] for i in expected[0].tolist()]
            return [names[i] for i in seen[0].tolist()], answers
        case "span corruption":
            # What `random_spans` hides at the end may stand anywhere: a sentence has only one span.
            hidden = random_spans(len(ids), generator, rate=RATE, mean_length=MEAN_LENGTH)
            n_first = int((~hidden).long().cumprod(0).sum())
            hidden = hidden.roll(int(torch.randint(-n_first, 1, (), generator=generator)))
            sentinel_ids = range(first_sentinel, first_sentinel + N_SENTINELS)
            source, target = spans_to_sentinels(ids, hidden, sentinel_ids)
        case "BART infilling":
            source = infill_spans(ids, BART_RATE, mask_id, generator, mean_length=MEAN_LENGTH)
        case "BART deletion":
            source = delete_tokens(ids, BART_RATE, generator)
        case "BART permutation":
            ends = [i for i, word in enumerate(words) if word in ENDS]
            source = permute_sentences(ids, ends, generator)
        case _:
            source = rotate(ids, generator)
    return [names[i] for i in source], [*(names[i] for i in target), EOS]
