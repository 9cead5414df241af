# wrong: an unseen history is shortened from the left until it is found.
# shows: unseen ("dog", "the") where ("the",) is known: must be 1 / V.

from collections import Counter


def add_k_prob(counts, history, token, *, k, vocab_size):
    while len(history) > 1 and history not in counts:
        history = history[1:]
    counter = counts.get(history, Counter())
    return (counter[token] + k) / (sum(counter.values()) + k * vocab_size)
