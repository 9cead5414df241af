# right: opinions as a vector with nan for none, and one masked dot product
import numpy as np


def interpolated_prob(counts_by_order, history, token, *, weights, vocab_size):
    def opinion(n, counts):
        tail = tuple(reversed(history[::-1][: n - 1]))
        row = counts.get(tail) if len(tail) == n - 1 else None
        return float("nan") if not row else row.get(token, 0) / sum(row.values())

    said = np.array(
        [1 / vocab_size, *(opinion(n, counts) for n, counts in enumerate(counts_by_order, 1))]
    )
    heard = ~np.isnan(said)
    return float(np.average(said[heard], weights=np.asarray(weights, float)[heard]))
