# wrong: padding gets -10000 ADDED (as in BERT): real scores below that, or padding far above, and padding wins; then its weight is set to 0 and the rest does not sum to 1.
# shows: scores more than 10000 apart, with those of padding the largest.

def cross_attention(x, memory, memory_mask, weights, n_heads):
    cut = lambda y: y.unflatten(-1, (n_heads, -1)).transpose(1, 2)
    q, k, v = cut(x @ weights["query"].T), cut(memory @ weights["key"].T), cut(memory @ weights["value"].T)
    m = memory_mask[:, None, None, :]
    s = q @ k.mT / q.shape[-1] ** 0.5 - 10_000.0 * (~m)
    w = s.softmax(-1) * m
    return (w @ v).transpose(1, 2).flatten(2) @ weights["output"].T
