# wrong: multiplies u by the whole sum, so that nothing lies beyond: pieces move where the sum is not exactly 1.
# shows: u a little below a right end, sum below 1; e.g. {"a": 0.5, "b": 0.4999999} and u = 0.5: "b", but 0.5 * 0.9999999 gives "a".

def sample(probs, u):
    u = u * sum(probs.values())
    total = 0.0
    for token, p in probs.items():
        total += p
        if total > u:
            return token
    return next(t for t in reversed(list(probs)) if probs[t] > 0)
