# wrong: all documents in one row, and the history cut at eos by looking BACK for it in the whole stream from the start (first eos of the stream only).
# shows: order 3 and more, the second document: histories reach into the first.

from collections import Counter
from collections import defaultdict


def count_ngrams(documents, order, eos):
    stream = [eos]
    for document in documents:
        stream += [*document, eos]
    counts = defaultdict(Counter)
    for t in range(1, len(stream)):
        counts[tuple(stream[max(0, t - order + 1) : t])][stream[t]] += 1
    return dict(counts)
