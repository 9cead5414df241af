# wrong: copies the whole prefix of the document at each place: quadratic time. Results are right.
# shows: one document of 100,000 tokens and more.

from collections import Counter


def count_ngrams(documents, order, eos):
    counts = {}
    for document in documents:
        padded = [eos] + list(document) + [eos]
        for t in range(1, len(padded)):
            before = padded[:t]
            history = tuple(before[max(0, len(before) - (order - 1)) :])
            counts.setdefault(history, Counter())[padded[t]] += 1
    return counts
