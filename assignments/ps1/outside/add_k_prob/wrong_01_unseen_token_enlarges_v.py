# wrong: a token that was seen nowhere is counted as one more in the vocabulary.
# shows: tokens seen after no history: (0 + k) / (total + k (V + 1)).

from collections import Counter


def add_k_prob(counts, history, token, *, k, vocab_size):
    counter = counts.get(history, Counter())
    V = vocab_size + (not any(token in other for other in counts.values()))
    return (counter[token] + k) / (sum(counter.values()) + k * V)
