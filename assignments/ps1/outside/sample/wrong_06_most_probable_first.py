# wrong: sorts the pieces by probability.
# shows: a dict whose first token is not the most probable.

def sample(probs, u):
    total = 0.0
    for token, p in sorted(probs.items(), key=lambda item: -item[1]):
        total += p
        if total > u:
            return token
    return token
