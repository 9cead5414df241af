# wrong: a place that was taken by an earlier row is not given again.
# shows: two rows that look at one place.

def align(weights, threshold):
    taken, pairs = set(), []
    for t, row in enumerate(weights.tolist()):
        s = row.index(max(row))
        if max(row) >= threshold and s not in taken:
            taken.add(s)
            pairs.append((t, s))
    return pairs
