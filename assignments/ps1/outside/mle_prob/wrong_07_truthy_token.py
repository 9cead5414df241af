# wrong: a falsy token (0, "", ()) counts as "no token": 0.0.
# shows: the token 0 that was seen.

def mle_prob(counts, history, token):
    counter = counts.get(history)
    if not counter or not token:
        return 0.0
    return counter[token] / sum(counter.values())
