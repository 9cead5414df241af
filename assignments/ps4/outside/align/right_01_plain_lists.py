def align(weights, threshold):
    pairs = []
    for t, row in enumerate(weights.tolist()):
        best = max(row)
        if best >= threshold:
            pairs.append((t, row.index(best)))
    return pairs
