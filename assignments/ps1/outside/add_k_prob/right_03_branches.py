def add_k_prob(counts, history, token, *, k, vocab_size):
    if history not in counts:
        return 1.0 / vocab_size
    seen = counts[history].get(token, 0)
    everything = counts[history].total()
    return (k + seen) / (k * vocab_size + everything)
