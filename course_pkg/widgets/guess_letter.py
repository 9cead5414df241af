"""Shannon's guessing game, played by the reader against a model.

Chapter: what is a language model. Shannon 1951.
"""

from collections.abc import Sequence

import numpy as np

from course_pkg.plots import Numbers
from course_pkg.widgets.widget import Widget, show_whitespace


def guess_letter(
    text: str, probabilities: Numbers, alphabet: Sequence[str], *, n_shown: int, alt: str
) -> Widget:
    """Let the reader play Shannon's guessing game (Shannon 1951) against a model.

    The reader guesses the text letter by letter. After each, the model's probability for it is
    shown, and the numbers of guesses bound the entropy that the reader finds in the text.

    Args:
        probabilities: one row per letter of `text`: what the model gave to each symbol of
            `alphabet` after the letters before it.
        n_shown: letters that are given; they show the model's surprise in the resting state.

    Raises:
        ValueError: the shapes do not fit, a row does not sum to one, a letter of the text is not
            in the alphabet, or nothing is left to guess.
    """
    table = np.asarray(probabilities, dtype=float)
    if table.shape != (len(text), len(alphabet)):
        raise ValueError(
            f"probabilities has shape {table.shape}; "
            f"{len(text)} letters over {len(alphabet)} symbols need {(len(text), len(alphabet))}"
        )
    if not np.allclose(table.sum(axis=1), 1.0, atol=1e-4):  # float32 over a few hundred symbols
        worst = float(table.sum(axis=1)[np.abs(table.sum(axis=1) - 1).argmax()])
        raise ValueError(f"a row of probabilities sums to {worst}; each must sum to 1")
    strange = sorted(set(text) - set(alphabet))
    if strange:
        raise ValueError(f"text contains {strange}; every letter must be in the alphabet")
    if not 0 < n_shown < len(text):
        raise ValueError(f"n_shown is {n_shown}; it must lie between 1 and {len(text) - 1}")
    targets = np.array([list(alphabet).index(letter) for letter in text])
    of_target = table[np.arange(len(text)), targets]
    ranks = 1 + (table > of_target[:, None]).sum(axis=1)
    with np.errstate(divide="ignore"):
        bits = -np.log2(of_target)
    best = [alphabet[i] for i in table.argmax(axis=1)]
    return Widget(
        "lm-guess-letter",
        {
            "text": text,
            "alphabet": list(alphabet),
            "shown": n_shown,
            "probability": np.round(of_target, 5).tolist(),
            "rank": ranks.tolist(),
            "best": best,
        },
        alt,
        ("letter", "model's probability", "surprise in bits", "model's rank", "its first guess"),
        [
            (show_whitespace(letter), f"{p:.3f}", f"{b:.2f}", str(rank), show_whitespace(guess))
            for letter, p, b, rank, guess in zip(text, of_target, bits, ranks, best, strict=True)
        ],
    )
