# right: running sums of the possible tokens, and a binary search for the first that is greater than u
from bisect import bisect_right
from itertools import accumulate


def sample(probs, u):
    possible = [token for token, p in probs.items() if p]
    ends = list(accumulate(probs[token] for token in possible))
    return possible[min(bisect_right(ends, u), len(possible) - 1)]
