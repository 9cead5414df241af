# wrong: .view(-1) fails on weights that stand in memory in another order.
# shows: weights.T.contiguous().T, or a slice weights[:, :3].

def align(weights, threshold):
    T, S = weights.shape
    flat = weights.view(-1).tolist()
    pairs = []
    for t in range(T):
        row = flat[t * S : (t + 1) * S]
        if max(row) >= threshold:
            pairs.append((t, row.index(max(row))))
    return pairs
