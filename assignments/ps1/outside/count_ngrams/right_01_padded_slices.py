from collections import Counter


def count_ngrams(documents, order, eos):
    counts = {}
    for document in documents:
        padded = [eos, *document, eos]
        for t in range(1, len(padded)):
            history = tuple(padded[max(0, t - order + 1) : t])
            counts.setdefault(history, Counter())[padded[t]] += 1
    return counts
