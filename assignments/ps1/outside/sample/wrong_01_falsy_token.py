# wrong: "found or last": a token 0, "" or () that was drawn is taken for "nothing found".
# shows: tokens such as 0, where 0 is drawn and is not the last.

def sample(probs, u):
    total, found, last = 0.0, None, None
    for token, p in probs.items():
        total += p
        if p > 0:
            last = token
        if found is None and total > u and p > 0:
            found = token
    return found or last
