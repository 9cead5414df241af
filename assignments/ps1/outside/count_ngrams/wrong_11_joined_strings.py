# wrong: histories are strings joined by a space and cut again: tokens that hold a space, or are no strings, are changed.
# shows: number tokens; tokens such as "New York".

from collections import Counter
from collections import defaultdict


def count_ngrams(documents, order, eos):
    counts = defaultdict(Counter)
    for document in documents:
        padded = [eos, *document, eos]
        for t in range(1, len(padded)):
            text = " ".join(map(str, padded[max(0, t - order + 1) : t]))
            counts[tuple(text.split())][padded[t]] += 1
    return dict(counts)
