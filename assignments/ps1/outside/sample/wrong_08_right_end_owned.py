# wrong: a piece owns its right end (>=), and a first token of probability 0 is drawn at u = 0.
# shows: u on a border.

def sample(probs, u):
    total = 0.0
    for token, p in probs.items():
        total += p
        if total >= u:
            return token
    return token
