def sample(probs, u):
    total, last = 0.0, None
    for token, p in probs.items():
        if p == 0:
            continue
        total += p
        last = token
        if total > u:
            return token
    return last
