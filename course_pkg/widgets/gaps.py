"""The shipped BERT filling the gaps of the reader's own sentence.

Chapter: models that come with the course.
"""

import re

import torch

from course_pkg.common.checks import whole_numbers
from course_pkg.models.bert import BERT
from course_pkg.weights.pretrained import load_pretrained
from course_pkg.widgets.shipped import framed, megabytes
from course_pkg.widgets.widget import Widget, show_whitespace

GAP = r" ?\[MASK\]"
"""A gap takes the place of a token with the space before it, as tokens have it."""


def gap_filler(name: str, *, text: str, alt: str, n_guesses: int = 10) -> Widget:
    """Let the reader write a sentence with gaps and see what a BERT would put in each.

    The model runs in the page. Until the reader asks for it, the figure shows the guesses for
    `text`, computed here.

    Args:
        name: a BERT that ships, such as "bert-small".
        text: a sentence with [MASK] where a token is missing.
        n_guesses: tokens shown for each gap, the most probable first.

    Raises:
        ValueError: a model that is no BERT, a text without a gap, or one longer than the context.
    """
    trained = load_pretrained(name)
    model, tokenizer = trained.model, trained.tokenizer
    if not isinstance(model, BERT):
        raise ValueError(f"name is {name!r}, a {trained.kind}; a bert fills gaps")
    whole_numbers(n_guesses=n_guesses)
    mask_id = tokenizer.special_ids["[MASK]"]  # type: ignore[attr-defined]
    ids = tokenizer.encode((pieces := re.split(GAP, text))[0])
    for piece in pieces[1:]:
        ids += [mask_id, *tokenizer.encode(piece)]
    if len(pieces) == 1:
        raise ValueError(f"text is {text!r}; it must have a [MASK]")
    read = torch.tensor([framed(trained, ids)])
    with torch.no_grad():
        probs = model(read).logits[read == mask_id].softmax(dim=-1)  # (gaps, V)
    best = probs.topk(n_guesses)
    gaps = [
        [(tokenizer.tokens[i], round(p, 5)) for p, i in zip(*gap, strict=True)]
        for gap in zip(best.values.tolist(), best.indices.tolist(), strict=True)
    ]
    return Widget(
        "lm-gaps",
        {
            "model": name,
            "megabytes": {name: megabytes(trained)},
            "text": text,
            "n_guesses": n_guesses,
            "gaps": gaps,
        },
        alt,
        ("gap", "guess", "probability"),
        [
            (str(n), show_whitespace(token), f"{p:.3f}")
            for n, gap in enumerate(gaps, 1)
            for token, p in gap
        ],
        models=[name],
    )
