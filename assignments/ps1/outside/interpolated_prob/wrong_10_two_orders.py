# wrong: written for orders 1 and 2 only.
# shows: three orders, or one.

def interpolated_prob(counts_by_order, history, token, *, weights, vocab_size):
    one, two = counts_by_order[:2]
    p = weights[0] / vocab_size + weights[1] * one[()][token] / sum(one[()].values())
    h = tuple(history[-1:])
    if h and h in two:
        return p + weights[2] * two[h][token] / sum(two[h].values())
    return p / (weights[0] + weights[1])
