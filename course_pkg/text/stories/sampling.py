"""Random draws that are the same on every version of Python.

`random.Random(seed).random()` is the one method whose sequence the standard library promises never
to change, so generated text rests on it alone; its digests are pinned in the tests.
"""

import operator
import random
from collections.abc import Sequence
from typing import TypeVar

from course_pkg.common.checks import whole_numbers

Item = TypeVar("Item")


def seeded(seed: int) -> random.Random:
    """Return the source of a draw.

    Raises:
        ValueError: if the seed is negative or no whole number.
    """
    whole_numbers(at_least=0, seed=seed)  # random would take -1 for 1
    return random.Random(operator.index(seed))


def pick(items: Sequence[Item], rng: random.Random) -> Item:
    """Draw one item, all equally likely."""
    return items[int(rng.random() * len(items))]


def pick_weighted(weighted: Sequence[tuple[Item, float]], rng: random.Random) -> Item:
    """Draw one item in proportion to its weight."""
    left = rng.random() * sum(weight for _, weight in weighted)
    for item, weight in weighted:
        left -= weight
        if left < 0:
            return item
    return weighted[-1][0]  # rounding left a crumb
