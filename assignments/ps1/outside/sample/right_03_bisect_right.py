import itertools
import bisect


def sample(probs, u):
    tokens = [token for token in probs if probs[token] > 0.0]
    ends = list(itertools.accumulate(probs[token] for token in tokens))
    return tokens[min(bisect.bisect_right(ends, u), len(tokens) - 1)]
