# wrong: takes a probability below 1e-9 for rounding dust and never draws it; breaks "A piece owns its left end" (only "a token of probability 0 is never drawn")
# shows: sample({"rare": 1e-12, "usual": 1.0}, 0.0) is "usual" in place of "rare"
def sample(probs, u):
    total, last = 0.0, None
    for token, p in probs.items():
        total += p
        if p < 1e-9:
            continue
        last = token
        if total > u:
            return token
    return last
