# wrong: P_1 is kept per token between calls: stale for another table, discount or vocabulary.
# shows: two models in a row with the same tokens.

from collections import Counter


_unigram = {}


def kneser_ney_prob(counts_by_order, history, token, *, discounts, vocab_size):
    if token not in _unigram:
        counter = counts_by_order[0].get((), Counter())
        total = sum(counter.values())
        _unigram[token] = (
            max(counter[token] - discounts[0], 0) / total + discounts[0] * len(counter) / total / vocab_size if total else 1 / vocab_size
        )
    p = _unigram[token]
    for n in range(1, len(counts_by_order)):
        counter = counts_by_order[n].get(history[len(history) - n :]) if n <= len(history) else None
        if counter:
            total = sum(counter.values())
            p = max(counter[token] - discounts[n], 0) / total + discounts[n] * len(counter) / total * p
    return p
