# first all n-grams in one Counter, then sorted into histories

from collections import Counter
from collections import defaultdict


def count_ngrams(documents, order, eos):
    grams = Counter(
        (tuple(padded[max(0, t + 1 - order) : t]), padded[t])
        for padded in ([eos, *d, eos] for d in documents)
        for t in range(1, len(padded))
    )
    counts = defaultdict(Counter)
    for (history, token), n in grams.items():
        counts[history][token] = n
    return dict(counts)
