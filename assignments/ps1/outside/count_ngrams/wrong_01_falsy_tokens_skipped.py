# wrong: "if token" leaves out tokens that are falsy: 0, "", ().
# shows: the id 0, an empty string or an empty tuple as a token.

from collections import Counter


def count_ngrams(documents, order, eos):
    counts = {}
    for document in documents:
        padded = [eos, *document, eos]
        for t in range(1, len(padded)):
            token = padded[t]
            if token or t == len(padded) - 1:
                history = tuple(padded[max(0, t - order + 1) : t])
                counts.setdefault(history, Counter())[token] += 1
    return counts
