"""A map of word embeddings to explore: neighbours of a word, or of a sum of words.

Chapter: fixed window.
"""

from collections.abc import Sequence

import numpy as np

from course_pkg.plots import Numbers
from course_pkg.widgets.widget import Widget

N_NEIGHBOURS = 5


def embedding_map(
    words: Sequence[str],
    kinds: Sequence[str],
    vectors: Numbers,
    *,
    text: str,
    alt: str,
) -> Widget:
    """Let the reader look words up in a trained embedding matrix.

    The map shows the two directions along which the vectors differ most; the neighbours, which the
    page computes from all numbers of the vectors, are the words of the largest cosine.

    Args:
        words: different words, at least one more than neighbours are shown.
        kinds: the group of each word, by which it is coloured.
        vectors: N x E, a row for each word.
        text: what stands in the field at first: words of the map, joined by + and -.

    Raises:
        ValueError: words that repeat or are too few, names or a table that do not fit them, or a
            vector of zeros.
    """
    table = np.asarray(vectors, dtype=float).round(3)
    if len(set(words)) != len(words) or len(words) <= N_NEIGHBOURS:
        raise ValueError(
            f"words has {len(words)}, {len(set(words))} of them different; "
            f"it must have more than {N_NEIGHBOURS}, each once"
        )
    if len(kinds) != len(words) or table.ndim != 2 or len(table) != len(words):
        raise ValueError(
            f"kinds has {len(kinds)} entries and vectors shape {table.shape}; "
            f"{len(words)} words need as many"
        )
    lengths = np.linalg.norm(table, axis=1, keepdims=True)
    if not lengths.all():
        raise ValueError(f"the vector of {words[int(lengths.argmin())]!r} is zero; it has no angle")
    centred = table - table.mean(axis=0)
    _, _, directions = np.linalg.svd(centred, full_matrices=False)
    places = centred @ directions[:2].T
    cosines = (table / lengths) @ (table / lengths).T
    nearest = np.argsort(-cosines, axis=1, kind="stable")
    rows = [
        (word, kind, ", ".join(words[j] for j in order if words[j] != word))
        for word, kind, order in zip(words, kinds, nearest[:, : N_NEIGHBOURS + 1], strict=True)
    ]
    return Widget(
        "lm-embedding-map",
        {
            "words": list(words),
            "kinds": list(kinds),
            "vectors": table.tolist(),
            "places": places.round(3).tolist(),
            "text": text,
            "shown": N_NEIGHBOURS,
        },
        alt,
        ("word", "kind", "nearest words, nearest first"),
        rows,
    )
