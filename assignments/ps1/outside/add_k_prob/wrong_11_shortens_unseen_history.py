# wrong: drops tokens from the front of an unseen history until it finds a known one; breaks "After a history that was never seen, all V tokens are equally probable" (and "looked up as it is")
# shows: add_k_prob({("a",): Counter(x=3)}, ("b", "a"), "x", k=1, vocab_size=7) is 0.4 in place of 1/7
def add_k_prob(counts, history, token, *, k, vocab_size):
    while history and history not in counts:
        history = history[1:]
    row = counts.get(history, {})
    return (row.get(token, 0) + k) / (sum(row.values()) + k * vocab_size)
