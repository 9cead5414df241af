# wrong: the denominators are kept by history and k: stale for another vocab_size or other counts.
# shows: the same history and k with another vocab_size.

from collections import Counter


_denominators = {}


def add_k_prob(counts, history, token, *, k, vocab_size):
    counter = counts.get(history, Counter())
    if (history, k) not in _denominators:
        _denominators[history, k] = sum(counter.values()) + k * vocab_size
    return (counter[token] + k) / _denominators[history, k]
