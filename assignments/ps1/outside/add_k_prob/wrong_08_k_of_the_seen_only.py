# wrong: k in the numerator for seen tokens, k / V for others.
# shows: unseen tokens with V > 1.

def add_k_prob(counts, history, token, *, k, vocab_size):
    counter = counts.get(history, {})
    total = sum(counter.values()) + k * vocab_size
    if token in counter or not counter:
        return (counter.get(token, 0) + k) / total
    return k / vocab_size / total
