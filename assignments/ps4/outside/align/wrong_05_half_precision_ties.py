# wrong: looks for the largest weight in float16, where weights that differ in the fourth digit are equal.
# shows: a row (0.50001, 0.50002) with threshold 0.5: the place is 1, this says 0.

def align(weights, threshold):
    places = weights.half().argmax(dim=1).tolist()
    best = weights.amax(dim=1).tolist()
    return [(t, s) for t, (b, s) in enumerate(zip(best, places)) if b >= threshold]
