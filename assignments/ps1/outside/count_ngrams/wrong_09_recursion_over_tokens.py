# wrong: recursion, one level per token: RecursionError for a document of a thousand tokens.
# shows: one long document.

from collections import Counter


def count_ngrams(documents, order, eos):
    counts = {}

    def walk(history, rest, i):
        if i == len(rest):
            return
        counts.setdefault(history, Counter())[rest[i]] += 1
        longer = (*history, rest[i])
        walk(longer[max(0, len(longer) - order + 1) :], rest, i + 1)

    for document in documents:
        walk((eos,)[: order - 1], [*document, eos], 0)
    return counts
