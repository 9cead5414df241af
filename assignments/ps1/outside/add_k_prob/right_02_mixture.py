# add-k is a mixture of the relative frequency and the uniform

def add_k_prob(counts, history, token, *, k, vocab_size):
    counter = counts.get(history, {})
    n = sum(counter.values())
    share = n / (n + k * vocab_size)
    frequency = counter.get(token, 0) / n if n else 0.0
    return share * frequency + (1 - share) / vocab_size
