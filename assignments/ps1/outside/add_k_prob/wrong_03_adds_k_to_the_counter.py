# wrong: writes count + k into the caller's Counter.
# shows: counts after the call; a second call.

def add_k_prob(counts, history, token, *, k, vocab_size):
    if history not in counts:
        return 1 / vocab_size
    counter = counts[history]
    total = sum(counter.values()) + k * vocab_size
    counter[token] += k
    return counter[token] / total
