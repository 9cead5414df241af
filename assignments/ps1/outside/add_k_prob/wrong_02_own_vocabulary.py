# wrong: V is the number of different tokens in counts where that is larger than vocab_size... or smaller: vocab_size is not used.
# shows: any vocabulary with tokens that were never seen.

def add_k_prob(counts, history, token, *, k, vocab_size):
    V = len({t for counter in counts.values() for t in counter} | {token}) or vocab_size
    counter = counts.get(history, {})
    return (counter.get(token, 0) + k) / (sum(counter.values()) + k * V)
