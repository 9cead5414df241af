# wrong: beyond the sum it returns the most probable token, not the last of nonzero probability.
# shows: {"a": 0.6, "b": 0.3999999} with u = 0.99999999.

def sample(probs, u):
    total = 0.0
    for token, p in probs.items():
        total += p
        if total > u:
            return token
    return max(probs, key=probs.get)
