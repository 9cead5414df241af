from collections import Counter


def add_k_prob(counts, history, token, *, k, vocab_size):
    counter = counts.get(history, Counter())
    return (counter[token] + k) / (sum(counter.values()) + k * vocab_size)
