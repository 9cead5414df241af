# wrong: the table is a default argument: counts of earlier calls stay in it.
# shows: a second call (at the same order the numbers double).

from collections import Counter


def count_ngrams(documents, order, eos, counts={}):
    for document in documents:
        padded = [eos, *document, eos]
        for t in range(1, len(padded)):
            counts.setdefault(tuple(padded[max(0, t - order + 1) : t]), Counter())[padded[t]] += 1
    return counts
