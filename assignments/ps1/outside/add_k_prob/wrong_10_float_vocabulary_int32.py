# wrong: the denominator is computed with numpy's int32 where k is whole: it overflows for large vocabularies and k.
# shows: k = 1000 and vocab_size = 5_000_000.

import numpy as np
from collections import Counter


def add_k_prob(counts, history, token, *, k, vocab_size):
    counter = counts.get(history, Counter())
    kind = np.int32 if float(k).is_integer() else np.float64
    with np.errstate(all="ignore"):
        total = (np.array([sum(counter.values())], kind) + np.array([k], kind) * np.array([vocab_size], kind))[0]
    return float(counter[token] + k) / float(total)
