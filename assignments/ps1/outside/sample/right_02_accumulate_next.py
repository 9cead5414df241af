import itertools


def sample(probs, u):
    ends = itertools.accumulate(probs.values())
    beyond = next((t for t in reversed(list(probs)) if probs[t] != 0), None)
    return next((token for token, end in zip(probs, ends) if end > u), beyond)
