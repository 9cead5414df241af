import math


def perplexity(log_probs):
    surprise = -sum(log_probs) / len(log_probs)
    try:
        return math.exp(surprise)
    except OverflowError:
        return math.inf
