# wrong: puts each padded document into a NumPy array, which turns mixed tokens into strings; breaks "A token may be a string, a number or a tuple. So never assume that a token is a word."
# shows: count_ngrams([[1, 2]], 2, "<eos>") has the keys ("1",) and ("2",) in place of (1,) and (2,)
from collections import Counter, defaultdict

import numpy as np


def count_ngrams(documents, order, eos):
    counts = defaultdict(Counter)
    for document in documents:
        padded = np.array([eos, *document, eos])
        for i in range(1, len(padded)):
            history = tuple(padded[max(0, i - order + 1) : i].tolist())
            counts[history][padded[i].item()] += 1
    return counts
