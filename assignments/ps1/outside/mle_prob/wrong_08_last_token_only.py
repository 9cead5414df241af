# wrong: looks up the last token of the history only.
# shows: histories of two tokens, or of none.

from collections import Counter


def mle_prob(counts, history, token):
    counter = counts.get(tuple(history[-1:]), Counter())
    return counter[token] / max(1, sum(counter.values()))
