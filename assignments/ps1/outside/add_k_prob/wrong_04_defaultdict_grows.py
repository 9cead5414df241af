# wrong: square brackets on a defaultdict add the unseen history.
# shows: a defaultdict(Counter) and an unseen history: len(counts) afterwards.

def add_k_prob(counts, history, token, *, k, vocab_size):
    try:
        counter = counts[history]
    except KeyError:
        counter = {}
    return (counter.get(token, 0) + k) / (sum(counter.values()) + k * vocab_size)
