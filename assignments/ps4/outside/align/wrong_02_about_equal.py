# wrong: counts a weight as "equal" that is within one per mille below the threshold.
# shows: largest weight 0.4999, threshold 0.5: must have no pair.

import math


def align(weights, threshold):
    pairs = []
    for t, row in enumerate(weights.tolist()):
        best = max(row)
        if best > threshold or math.isclose(best, threshold, rel_tol=1e-3):
            pairs.append((t, row.index(best)))
    return pairs
