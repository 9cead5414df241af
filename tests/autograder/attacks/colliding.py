"""Keys that make a dict or a set slow: nobody's secret is what a number hashes to."""

import numpy as np


def meeting_keys(bits, n):
    """Whole numbers of different hashes that fill one way through a dict of 2**bits places, and
    others of which each finds all places taken until it comes to the beginning of that way."""
    mask, chain, slot = np.uint64((1 << bits) - 1), np.zeros(n, np.uint64), 0
    for k in range(n):
        chain[k] = slot
        slot = (5 * slot + 1) & int(mask)
    taken = np.zeros(1 << bits, bool)
    taken[chain.astype(np.int64)] = True
    rng = np.random.default_rng(0)
    keys = rng.choice(chain, 4 * n)
    slots, known = keys.copy(), bits
    for step in range(1, 13):  # each step of the way brings in five more bits
        width = min(5, 60 - known)
        more = rng.integers(0, 1 << max(width, 0), (8, len(keys)), dtype=np.uint64)
        longer = keys | more << np.uint64(known)
        after = (slots * np.uint64(5) + (longer >> np.uint64(5 * step)) + np.uint64(1)) & mask
        good = taken[after.astype(np.int64)]
        chosen, columns = good.argmax(0), np.arange(len(keys))
        keys, slots = longer[chosen, columns][good.any(0)], after[chosen, columns][good.any(0)]
        known += width
    return [*chain.tolist(), *np.unique(keys[keys > mask])[:n].tolist()]


def alike(depth, n, many):
    """The messages of many frozensets of n elements, nested to a depth, all of one hash. Two that
    are compared differ at every depth in nothing but what was put in last."""
    if depth == 0:
        return [str(k * ((1 << 61) - 1)) for k in range(1, many + 1)]
    inner = alike(depth - 1, n, n - 1 + many)
    kept = ",".join(inner[: n - 1])
    return [f'["frozenset",{kept},{each}]' for each in inner[n - 1 :]]
