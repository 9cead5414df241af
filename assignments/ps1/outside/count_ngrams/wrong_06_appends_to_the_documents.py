# wrong: puts eos into the caller's documents and takes only the first one away again.
# shows: documents after the call: one token longer.

from collections import Counter


def count_ngrams(documents, order, eos):
    counts = {}
    for document in documents:
        document.insert(0, eos)
        document.append(eos)
        for t in range(1, len(document)):
            counts.setdefault(tuple(document[max(0, t - order + 1) : t]), Counter())[document[t]] += 1
        del document[0]
    return counts
