import numpy as np


def interpolated_prob(counts_by_order, history, token, *, weights, vocab_size):
    p = np.full(len(weights), np.nan)
    p[0] = 1 / vocab_size
    for n, counts in enumerate(counts_by_order, start=1):
        start = len(history) - (n - 1)
        followers = counts.get(history[start:]) if start >= 0 else None
        if followers:
            p[n] = followers[token] / sum(followers.values())
    knows = ~np.isnan(p)
    return float(np.average(p[knows], weights=np.asarray(weights)[knows]))
