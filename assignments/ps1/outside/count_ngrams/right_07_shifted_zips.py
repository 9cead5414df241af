# right: the growing histories at the start apart, then a zip of shifted iterators; n-grams are counted flat and grouped at the end
from collections import Counter
from itertools import islice


def count_ngrams(documents, order, eos):
    flat = Counter()
    for document in documents:
        padded = (eos, *document, eos)
        for end in range(1, min(order, len(padded))):
            flat[padded[:end], padded[end]] += 1
        if order < len(padded):
            shifted = [islice(padded, 1 + s, None) for s in range(order)]
            flat.update((gram[:-1], gram[-1]) for gram in zip(*shifted))
    result = {}
    for (history, token), count in flat.items():
        result.setdefault(history, Counter())[token] = count
    return result
