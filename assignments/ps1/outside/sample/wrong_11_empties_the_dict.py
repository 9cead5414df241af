# wrong: pops the pieces from the caller's dict.
# shows: probs after the call.

def sample(probs, u):
    total = 0.0
    while probs:
        token = next(iter(probs))
        p = probs.pop(token)
        total += p
        if p > 0:
            last = token
        if total > u:
            return token
    return last
