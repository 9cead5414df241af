# wrong: multiplies u by the whole sum, so that the pieces fill the line; breaks "the first token for which the sum of the probabilities up to it, its own included, is greater than u"
# shows: sample({"a": 0.5, "b": 0.4999995}, 0.5000001) is "a" in place of "b"
def sample(probs, u):
    place = u * sum(probs.values())
    total, last = 0.0, None
    for token, p in probs.items():
        if p > 0:
            last = token
        total += p
        if p > 0 and total > place:
            return token
    return last
