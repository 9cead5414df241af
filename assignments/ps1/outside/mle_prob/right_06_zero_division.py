from collections import Counter


def mle_prob(counts, history, token):
    counter = counts.get(history, Counter())
    try:
        return counter[token] / sum(counter.values())
    except ZeroDivisionError:
        return 0.0
