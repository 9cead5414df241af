# wrong: nothing below order 1: an unseen token has probability 0.
# shows: everywhere, above all tokens that were never seen.

from collections import Counter


def kneser_ney_prob(counts_by_order, history, token, *, discounts, vocab_size):
    unigrams = counts_by_order[0].get((), Counter())
    p = unigrams[token] / sum(unigrams.values()) if unigrams else 1 / vocab_size
    for n in range(1, len(counts_by_order)):
        counter = counts_by_order[n].get(history[len(history) - n :]) if n <= len(history) else None
        if counter:
            total = sum(counter.values())
            p = max(counter[token] - discounts[n], 0) / total + discounts[n] * len(counter) / total * p
    return p
