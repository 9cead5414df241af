# wrong: the totals are kept by history alone: stale for another table, or after the caller has counted on.
# shows: two tables with one history and different totals.

_totals = {}


def mle_prob(counts, history, token):
    if history not in counts:
        return 0.0
    if history not in _totals:
        _totals[history] = sum(counts[history].values())
    return counts[history][token] / _totals[history]
