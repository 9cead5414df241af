# wrong: np.array makes strings of numbers beside a string eos (and two axes of tuples).
# shows: integer tokens with eos = "<eos>"; tuple tokens.

import numpy as np
from collections import Counter
from collections import defaultdict


def count_ngrams(documents, order, eos):
    counts = defaultdict(Counter)
    for document in documents:
        padded = np.array([eos, *document, eos]).tolist()
        for t in range(1, len(padded)):
            counts[tuple(padded[max(0, t - order + 1) : t])][padded[t]] += 1
    return dict(counts)
