# wrong: divides each row by its sum first; the contract takes the weights as they are.
# shows: a row that does not sum to 1, such as (0.3, 0, 0) with threshold 0.5, which has no pair.

def align(weights, threshold):
    share = weights / weights.sum(dim=1, keepdim=True)
    best, place = share.max(dim=1)
    return [(t, s) for t, (b, s) in enumerate(zip(best.tolist(), place.tolist())) if b >= threshold]
