"""Which source words each word of a translation attends to.

Chapter: sequence to sequence and attention.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from course_pkg.plots import Numbers
from course_pkg.widgets.widget import Widget


@dataclass(frozen=True)
class Alignment:
    """A text and its translation, which words belong together, and where models look.

    Args:
        source: words of the text.
        target: words of its translation.
        links: (source position, target position) of words that translate one another.
        weights: name of a model -> its attention, one row per target word, each summing to one.
    """

    source: Sequence[str]
    target: Sequence[str]
    links: Collection[tuple[int, int]]
    weights: Mapping[str, Numbers]

    def gold(self) -> list[list[int]]:
        """Return the source positions that each target word translates."""
        return [sorted(s for s, t in self.links if t == place) for place in range(len(self.target))]


def alignment_explorer(alignments: Sequence[Alignment], *, selected: int, alt: str) -> Widget:
    """Let the reader point at a word of a translation and see what it attends to.

    Args:
        selected: target word of the first text that is chosen in the resting state; the model in
            the resting state is the last one named.

    Raises:
        ValueError: there is nothing to show, the texts are not all attended to by the same models,
            weights do not fit their words or do not sum to one, or `selected` is no target word.
    """
    if not alignments or not alignments[0].weights:
        raise ValueError("alignments is empty; give at least one text with one model's weights")
    if not 0 <= selected < len(alignments[0].target):
        last = len(alignments[0].target) - 1
        raise ValueError(f"selected is {selected}; it must lie between 0 and {last}")
    models = list(alignments[0].weights)
    texts, rows = [], []
    for number, text in enumerate(alignments, 1):
        if list(text.weights) != models:
            raise ValueError(f"text {number} has the models {list(text.weights)}, not {models}")
        gold = text.gold()
        tables = {name: _attention(text, name) for name in models}
        texts.append(
            {"source": list(text.source), "target": list(text.target), "gold": gold}
            | {"weights": {name: np.round(table, 3).tolist() for name, table in tables.items()}}
        )
        for name, table in tables.items():
            for word, row, places in zip(text.target, table, gold, strict=True):
                best = int(row.argmax())
                truth = " + ".join(text.source[s] for s in places)
                rows.append((str(number), name, word, text.source[best], f"{row[best]:.2f}", truth))
    return Widget(
        "lm-alignment",
        {"models": models, "model": models[-1], "texts": texts, "selected": selected},
        alt,
        ("text", "attention", "word", "looks most at", "weight", "translates"),
        rows,
    )


def _attention(text: Alignment, model: str) -> np.ndarray:
    """Return a model's weights on a text as an array, if they are weights on this text."""
    table = np.asarray(text.weights[model], dtype=float)
    expected = (len(text.target), len(text.source))
    if table.shape != expected:
        raise ValueError(f"weights of {model!r} have shape {table.shape}; the words: {expected}")
    sums = table.sum(axis=1)
    if not np.allclose(sums, 1.0, atol=1e-4):  # float32 over a few dozen words
        raise ValueError(f"a row of {model!r} sums to {sums[abs(sums - 1).argmax()]}, not to 1")
    return table
