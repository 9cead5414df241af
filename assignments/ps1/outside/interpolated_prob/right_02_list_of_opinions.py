import math


def interpolated_prob(counts_by_order, history, token, *, weights, vocab_size):
    opinions = [(weights[0], 1 / vocab_size)]
    for n, (counts, weight) in enumerate(zip(counts_by_order, weights[1:])):
        key = tuple(history[-n:]) if n else ()
        if len(key) == n and counts.get(key):
            counter = counts[key]
            opinions.append((weight, counter.get(token, 0) / counter.total()))
    return math.fsum(w * p for w, p in opinions) / math.fsum(w for w, _ in opinions)
