# wrong: beyond the whole sum it returns the last KEY, even if its probability is 0.
# shows: sum a little below 1, u above it, last token of probability 0.

def sample(probs, u):
    total = 0.0
    for token, p in probs.items():
        total += p
        if u < total:
            return token
    return token
