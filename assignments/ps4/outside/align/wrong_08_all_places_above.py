# wrong: gives a pair for EVERY place at or above the threshold, not for the largest alone.
# shows: threshold below 0.5 and a row such as (0.4, 0.6) with threshold 0.3; also ties at 0.5.

def align(weights, threshold):
    return [tuple(pair) for pair in (weights >= threshold).nonzero().tolist()]
