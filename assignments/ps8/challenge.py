"""The open challenge of problem set 8: what 64 labels are worth beside a frozen model.

An answer is given what the course's GPT makes of reviews: vectors, since the model itself does not
enter the sandbox. In every class they go through other random linear maps. A rotation would not do:
it keeps a vector's length, and there are so few reviews that its length says which one it is.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from autograder.authoring.checks import Case, Challenge, Check, Inputs, Part
from course_pkg.layers.blocks import Trace
from course_pkg.text.stories.tasks import Reviews
from course_pkg.weights.pretrained import load_pretrained

N_LABELS, N_ASKED = 64, 1_000
_PIECE = 100


@lru_cache(maxsize=1)
def draw_reviews(seed: int) -> tuple[Inputs, NDArray[np.int64]]:
    """Draw reviews as vectors, the labels of the first 64, and those of the others."""
    reviews = Reviews(noise=0).sample(N_LABELS + N_ASKED, seed=seed)
    found = vectors_of([review.text for review in reviews])
    labels = np.array([review.label for review in reviews])
    chance = np.random.default_rng(seed)
    for layer in range(found.shape[1]):
        found[:, layer] = found[:, layer] @ draw_map(chance, found.shape[-1])
    inputs = {
        "vectors": found[:N_LABELS],
        "labels": labels[:N_LABELS],
        "unseen": found[N_LABELS:],
    }
    return inputs, labels[N_LABELS:]


def draw_map(chance: np.random.Generator, width: int) -> NDArray[np.float32]:
    """Draw a linear map that turns, stretches each axis by its own factor, and turns again."""
    first, last = (np.linalg.qr(chance.normal(size=(width, width)))[0] for _ in range(2))
    return (first * np.exp(0.5 * chance.normal(size=width)) @ last).astype(np.float32)


def vectors_of(texts: Sequence[str]) -> NDArray[np.float32]:
    """Return (n, L + 1, D) the mean over a text's tokens, before the first block and after each."""
    gpt = load_pretrained("gpt-small")
    rows = [torch.tensor([gpt.tokenizer.eos_id, *gpt.tokenizer.encode(text)]) for text in texts]
    means = []
    for start in range(0, len(rows), _PIECE):
        piece = rows[start : start + _PIECE]
        ids = torch.nn.utils.rnn.pad_sequence(piece, batch_first=True)
        # The causal mask keeps what fills a row up from its tokens; here it is left out, too.
        is_text = torch.arange(ids.shape[1]) < torch.tensor([len(row) for row in piece])[:, None]
        trace = Trace()
        with torch.no_grad():
            gpt.model.encode(ids, trace=trace)
        states = torch.stack(trace.hidden_states, dim=1) * is_text[:, None, :, None]
        means.append(states.sum(dim=2) / is_text.sum(dim=1)[:, None, None])
    return torch.cat(means).numpy()


def _draw(rng: np.random.Generator) -> list[Case]:
    inputs, labels = draw_reviews(int(rng.integers(2**62)))
    # A copy for whoever changes what it is given.
    given = {name: array.copy() for name, array in inputs.items()}
    return [Case(f"{N_ASKED:,} reviews", given, withheld=labels)]


def zeros_and_ones(implementation, inputs):
    """Return the labels as a list, from whatever holds them."""
    import numpy

    found = implementation(**inputs)
    found = found.detach() if hasattr(found, "detach") else found
    return numpy.asarray(found).ravel().tolist()


def guess(unseen: NDArray[np.float32], **unused: Any) -> list[int]:
    """Call all of them bad: right for half."""
    return [0] * len(unseen)


def _are_labels(observed: Any, expected: Any, inputs: Inputs) -> str | None:
    if type(observed) is not list or len(observed) != len(expected):
        return "the result does not hold a label for each review"
    if any(type(label) is not int or label not in (0, 1) for label in observed):
        return "a label is neither the integer 0 nor the integer 1"
    return None


def share_right(values: Sequence[Any], withheld: Sequence[Any]) -> float:
    """Return the share of reviews that are judged rightly."""
    (mine,), (right,) = values, withheld
    return float(np.mean(np.array(mine) == right))


CHALLENGE = Challenge(
    task=f"Judge {N_ASKED:,} reviews by {N_LABELS} labels and the vectors of a frozen model.",
    check=Check(
        "ps8_challenge",
        1.0,
        "judge_reviews",
        guess,
        (
            Part(
                "reviews",
                "The result holds a label, 0 or 1, for each review.",
                _draw,
                zeros_and_ones,
                judge=_are_labels,
            ),
        ),
        seconds=30.0,
    ),
    to_beat="a linear head",
    score=share_right,
    unit="of the reviews",
    shown="{:.1%}",
    higher_is_better=True,
)
