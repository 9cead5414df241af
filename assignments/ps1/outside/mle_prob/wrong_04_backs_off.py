# wrong: an unseen history is shortened until one is seen; the contract looks it up as it is.
# shows: history ("dog", "the") where ("the",) is in counts: must be 0.

def mle_prob(counts, history, token):
    while history and history not in counts:
        history = history[1:]
    if history not in counts:
        return 0.0
    return counts[history][token] / sum(counts[history].values())
