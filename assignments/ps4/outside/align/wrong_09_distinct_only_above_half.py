# wrong: takes it for granted that at most one place reaches the threshold: takes the FIRST that does, not the largest.
# shows: threshold 0.25 and a row (0.25, 0.75); thresholds above 0.5 are fine.

def align(weights, threshold):
    pairs = []
    for t, row in enumerate(weights.tolist()):
        for s, weight in enumerate(row):
            if weight >= threshold:
                pairs.append((t, s))
                break
    return pairs
