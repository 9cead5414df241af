# wrong: order - 1 eos in front: histories like (eos, eos).
# shows: order 3 and more; at order 2 it is right; at order 1 the first target is lost.

from collections import Counter
from collections import defaultdict


def count_ngrams(documents, order, eos):
    counts = defaultdict(Counter)
    for document in documents:
        padded = [eos] * (order - 1) + list(document) + [eos]
        for t in range(order - 1, len(padded)):
            counts[tuple(padded[t - order + 1 : t])][padded[t]] += 1
    return dict(counts)
