# wrong: 0 after an unseen history, as in task 2.
# shows: unseen history.

def add_k_prob(counts, history, token, *, k, vocab_size):
    if history not in counts:
        return 0.0
    return (counts[history][token] + k) / (sum(counts[history].values()) + k * vocab_size)
