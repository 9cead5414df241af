"""A query and a key that are turned by their positions.

Chapter: positions. Su et al. 2021.
"""

import numpy as np

from course_pkg.plots import Numbers
from course_pkg.widgets.widget import Widget

_SHOWN = ((3, 0), (23, 20), (60, 57), (0, 3), (20, 23), (57, 60))
"""Positions of query and key in the table: two distances, three shifts of each."""


def rotation_explorer(
    query: Numbers,
    key: Numbers,
    *,
    base: float = 10_000.0,
    positions: tuple[int, int] = (9, 4),
    last: int = 63,
    alt: str,
) -> Widget:
    """Let the reader set the positions of a query and a key and see both turn.

    The page turns the chosen pair of entries by position times angle and takes the dot product,
    which stays as it is when both positions move by the same amount.

    Args:
        query, key: K numbers of one head, before rotation; entry i is paired with entry i + K/2.
        base: pair i turns by base^(-2i/K) per position; the reader may choose another angle.
        positions: of query and key in the resting state.
        last: the largest position.

    Raises:
        ValueError: query and key that are not equally many numbers, evenly many, or a position
            outside 0 to `last`.
    """
    q, k = np.asarray(query, dtype=float), np.asarray(key, dtype=float)
    if q.ndim != 1 or q.shape != k.shape or not q.size or q.size % 2:
        raise ValueError(
            f"query has shape {q.shape} and key {k.shape}; both must be (K,), with K even"
        )
    if not all(0 <= position <= last for position in positions):
        raise ValueError(f"positions is {positions}; both must lie between 0 and {last}")
    angles = base ** (-np.arange(0, q.size, 2) / q.size)
    pairs = list(zip(*q.reshape(2, -1), strict=True)), list(zip(*k.reshape(2, -1), strict=True))
    rows = []
    for m, n in _SHOWN:
        # As complex numbers: turning is multiplication, the dot product a real part.
        turned_q = (q[: q.size // 2] + 1j * q[q.size // 2 :]) * np.exp(1j * m * angles)
        turned_k = (k[: k.size // 2] + 1j * k[k.size // 2 :]) * np.exp(1j * n * angles)
        products = (turned_q * turned_k.conj()).real
        rows.append((str(m), str(n), str(m - n), f"{products[0]:.3f}", f"{products.sum():.3f}"))
    return Widget(
        "lm-rotation",
        {
            "pairs": [
                {"query": [float(x) for x in a], "key": [float(x) for x in b], "angle": float(w)}
                for a, b, w in zip(*pairs, angles, strict=True)
            ],
            "m": positions[0],
            "n": positions[1],
            "last": last,
        },
        alt,
        ("m", "n", "m − n", "dot product of pair 1", "of all pairs"),
        rows,
    )
