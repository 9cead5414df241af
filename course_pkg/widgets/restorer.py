"""Vowels put back into the reader's own words, and where the model looks for each letter.

Chapter: sequence to sequence and attention.
"""

import base64
import copy

import torch
from torch import Tensor

from course_pkg.decoding.beam_search import greedy_search
from course_pkg.layers.attention import DotScore
from course_pkg.layers.recurrent import GRUCell
from course_pkg.models.seq2seq import Seq2Seq
from course_pkg.text.tokenizers import CharTokenizer
from course_pkg.widgets.widget import Widget, show_whitespace

VOWELS = "aeiouAEIOU"
LARGEST = 2**15 - 1  # a weight travels as a whole number of 16 bits


def vowel_restorer(
    model: Seq2Seq,
    tokenizer: CharTokenizer,
    *,
    text: str,
    selected: int = 0,
    most: int = 24,
    alt: str,
) -> Widget:
    """Let the reader type words; a trained model, run in the page, reads them without their vowels.

    Args:
        model: one layer of GRU cells on each side, with the dot product as its score; source and
            target share their ids.
        tokenizer: of single characters, without an unknown one.
        text: what stands in the field at first.
        selected: the letter written of which the weights are shown at first.
        most: letters that the reader may type.

    Raises:
        ValueError: another kind of model, or a text that it cannot read.
    """
    if (
        not isinstance(model.score, DotScore)
        or model.decoder.cell is not GRUCell
        or "decoder.kernel.weight_ih_l1" in model.state_dict()
    ):
        raise ValueError(
            "model has another cell, score or number of layers; the page computes one layer of "
            "GRU cells with the dot product"
        )
    consonants = "".join(letter for letter in text if letter not in VOWELS)
    if not consonants or len(text) > most:
        raise ValueError(f"text is {text!r}; it needs a consonant and at most {most} letters")
    rounded = copy.deepcopy(model).eval()
    packed = {}
    with torch.no_grad():
        for name, weight in rounded.named_parameters():
            packed[name] = _pack(weight)
        source, end = torch.tensor([tokenizer.encode(consonants)]), tokenizer.eos_id
        first = torch.tensor([end])
        (found,) = greedy_search(rounded.start(source), first, eos_id=end, max_length=2 * most)
        ids = list(found.ids)
        (weights,) = rounded.align(source, torch.tensor([[end, *ids[:-1]]])).tolist()
    rows = []
    for i, row in zip(ids, weights, strict=True):
        best = row.index(max(row))
        written = "the end" if i == end else show_whitespace(tokenizer.tokens[i])
        rows.append((written, show_whitespace(consonants[best]), f"{row[best]:.2f}"))
    return Widget(
        "lm-restorer",
        {
            "weights": packed,
            "symbols": list(tokenizer.tokens),
            "end": end,
            "vowels": VOWELS,
            "text": text,
            "selected": selected,
            "most": most,
        },
        alt,
        ("written", "looks most at", "weight"),
        rows,
    )


def _pack(weight: Tensor) -> dict[str, object]:
    """Round a weight, in place, to multiples of a unit; return the unit and the multiples."""
    scale = float(weight.abs().max()) / LARGEST or 1.0
    numbers = (weight / scale).round()
    weight.copy_(numbers * scale)
    encoded = base64.b64encode(numbers.numpy().astype("<i2").tobytes()).decode("ascii")
    return {"shape": list(weight.shape), "scale": scale, "numbers": encoded}
