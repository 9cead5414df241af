# wrong: probabilities below 1e-12 are taken for 0.
# shows: {"a": 1e-300, "b": 1.0} with u = 0: "a" owns the place 0.

def sample(probs, u):
    total, last = 0.0, None
    for token, p in probs.items():
        if p < 1e-12:
            continue
        total += p
        last = token
        if total > u:
            return token
    return last
