# wrong: of equal weights the rightmost wins (sorted, last).
# shows: a row whose largest weight, at or above the threshold, stands there twice.

def align(weights, threshold):
    pairs = []
    for t, row in enumerate(weights.tolist()):
        s = sorted(range(len(row)), key=lambda i: row[i])[-1]
        if row[s] >= threshold:
            pairs.append((t, s))
    return pairs
