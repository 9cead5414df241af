# %% right: Searches the cumulative sums with NumPy.
def sample(probs, u):
    tokens = list(probs)
    ends = np.cumsum(list(probs.values()))
    place = int(np.searchsorted(ends, u, side="right"))
    last = max(i for i, token in enumerate(tokens) if probs[token] > 0)
    return tokens[min(place, last)]


# %% right: Bisects the sums of the possible tokens.
def sample(probs, u):
    from bisect import bisect_right
    from itertools import accumulate

    possible = {token: prob for token, prob in probs.items() if prob > 0}
    ends = list(accumulate(possible.values()))
    ends[-1] = 1.0
    return list(possible)[bisect_right(ends, u)]


# %% right: Subtracts each piece from u.
def sample(probs, u):
    owner = None
    for token in probs:
        if probs[token] > 0:
            owner = token
            u -= probs[token]
            if u < 0:
                return token
    return owner


# %% right: Takes the first of a generator, with a default.
def sample(probs, u):
    possible = [token for token in probs if probs[token] > 0]
    ends = np.cumsum([probs[token] for token in possible])
    return next((t for t, end in zip(possible, ends, strict=True) if end > u), possible[-1])


# %% right: Takes the first piece away and calls itself with the rest.
def sample(probs, u):
    (token, prob), *others = ((t, p) for t, p in probs.items() if p > 0)
    if u < prob or not others:
        return token
    return sample(dict(others), u - prob)


# %% right: running sum
def sample(probs, u):
    total, last = 0.0, None
    for token, p in probs.items():
        if p == 0:
            continue
        total += p
        last = token
        if total > u:
            return token
    return last


# %% right: accumulate next
import itertools


def sample(probs, u):
    ends = itertools.accumulate(probs.values())
    beyond = next((t for t in reversed(list(probs)) if probs[t] != 0), None)
    return next((token for token, end in zip(probs, ends) if end > u), beyond)


# %% right: bisect right
import itertools
import bisect


def sample(probs, u):
    tokens = [token for token in probs if probs[token] > 0.0]
    ends = list(itertools.accumulate(probs[token] for token in tokens))
    return tokens[min(bisect.bisect_right(ends, u), len(tokens) - 1)]


# %% right: numpy searchsorted
import numpy as np


def sample(probs, u):
    tokens = [t for t, p in probs.items() if p > 0]
    ends = np.cumsum([probs[t] for t in tokens])
    place = np.searchsorted(ends, u, side="right")
    return tokens[min(int(place), len(tokens) - 1)]


# %% right: iterative while
def sample(probs: dict, u: float):
    owners = iter(filter(lambda item: item[1] > 0, probs.items()))
    token, end = next(owners)
    while not end > u:
        following = next(owners, None)
        if following is None:
            break
        token = following[0]
        end += following[1]
    return token


# %% right: bisect
# running sums of the possible tokens, and a binary search for the first that is greater than u
from bisect import bisect_right
from itertools import accumulate


def sample(probs, u):
    possible = [token for token, p in probs.items() if p]
    ends = list(accumulate(probs[token] for token in possible))
    return possible[min(bisect_right(ends, u), len(possible) - 1)]


# %% wrong: falsy token
# "found or last": a token 0, "" or () that was drawn is taken for "nothing found".
# shows: tokens such as 0, where 0 is drawn and is not the last.

def sample(probs, u):
    total, found, last = 0.0, None, None
    for token, p in probs.items():
        total += p
        if p > 0:
            last = token
        if found is None and total > u and p > 0:
            found = token
    return found or last


# %% wrong: last key if beyond
# beyond the whole sum it returns the last KEY, even if its probability is 0.
# shows: sum a little below 1, u above it, last token of probability 0.

def sample(probs, u):
    total = 0.0
    for token, p in probs.items():
        total += p
        if u < total:
            return token
    return token


# %% wrong: tiny is zero
# probabilities below 1e-12 are taken for 0.
# shows: {"a": 1e-300, "b": 1.0} with u = 0: "a" owns the place 0.

def sample(probs, u):
    total, last = 0.0, None
    for token, p in probs.items():
        if p < 1e-12:
            continue
        total += p
        last = token
        if total > u:
            return token
    return last


# %% wrong: stretched
# multiplies u by the whole sum, so that nothing lies beyond: pieces move where the sum is not exactly 1.
# shows: u a little below a right end, sum below 1; e.g. {"a": 0.5, "b": 0.4999999} and u = 0.5: "b", but 0.5 * 0.9999999 gives "a".

def sample(probs, u):
    u = u * sum(probs.values())
    total = 0.0
    for token, p in probs.items():
        total += p
        if total > u:
            return token
    return next(t for t in reversed(list(probs)) if probs[t] > 0)


# %% wrong: float32 sums
# the running sum is float32: borders are off by 1e-8, and in a long line by more.
# shows: u next to a border such as 0.1 (float32 0.1 is above it): u = 0.1 draws the first token.

import numpy as np


def sample(probs, u):
    tokens = [t for t, p in probs.items() if p > 0]
    ends = np.cumsum(np.array([probs[t] for t in tokens], dtype=np.float32))
    place = int(np.searchsorted(ends.astype(np.float64), u, side="right"))
    return tokens[min(place, len(tokens) - 1)]


# %% wrong: most probable first
# sorts the pieces by probability.
# shows: a dict whose first token is not the most probable.

def sample(probs, u):
    total = 0.0
    for token, p in sorted(probs.items(), key=lambda item: -item[1]):
        total += p
        if total > u:
            return token
    return token


# %% wrong: most probable if beyond
# beyond the sum it returns the most probable token, not the last of nonzero probability.
# shows: {"a": 0.6, "b": 0.3999999} with u = 0.99999999.

def sample(probs, u):
    total = 0.0
    for token, p in probs.items():
        total += p
        if total > u:
            return token
    return max(probs, key=probs.get)


# %% wrong: right end owned
# a piece owns its right end (>=), and a first token of probability 0 is drawn at u = 0.
# shows: u on a border.

def sample(probs, u):
    total = 0.0
    for token, p in probs.items():
        total += p
        if total >= u:
            return token
    return token


# %% wrong: rounded border
# rounds the running sum to 9 digits "because of float error", which moves the borders.
# shows: {"a": 0.49999999995, "b": the rest} with u = 0.49999999997: "b" owns it, this says "a".

def sample(probs, u):
    total, last = 0.0, None
    for token, p in probs.items():
        if p == 0:
            continue
        total += p
        last = token
        if round(total, 9) > u:
            return token
    return last


# %% wrong: random choice
# uses the random generator with u as its seed.
# shows: nearly everywhere; the state of `random` changes.

import random


def sample(probs, u):
    random.seed(u)
    return random.choices(list(probs), weights=list(probs.values()))[0]


# %% wrong: empties the dict
# pops the pieces from the caller's dict.
# shows: probs after the call.

def sample(probs, u):
    total = 0.0
    while probs:
        token = next(iter(probs))
        p = probs.pop(token)
        total += p
        if p > 0:
            last = token
        if total > u:
            return token
    return last


# %% wrong: stretches the dart
# multiplies u by the whole sum, so that the pieces fill the line; breaks "the first token for which the sum of the probabilities up to it, its own included, is greater than u"
# shows: sample({"a": 0.5, "b": 0.4999995}, 0.5000001) is "a" in place of "b"
def sample(probs, u):
    place = u * sum(probs.values())
    total, last = 0.0, None
    for token, p in probs.items():
        if p > 0:
            last = token
        total += p
        if p > 0 and total > place:
            return token
    return last


# %% wrong: rounding dust
# takes a probability below 1e-9 for rounding dust and never draws it; breaks "A piece owns its left end" (only "a token of probability 0 is never drawn")
# shows: sample({"rare": 1e-12, "usual": 1.0}, 0.0) is "usual" in place of "rare"
def sample(probs, u):
    total, last = 0.0, None
    for token, p in probs.items():
        total += p
        if p < 1e-9:
            continue
        last = token
        if total > u:
            return token
    return last


# %% wrong: the token 0 counts as none
# None stands for "no token yet", and the token 0 is skipped as falsy beyond the sum.
# shows: u beyond the sum where the last token is 0
def sample(probs, u):
    total, last = 0.0, None
    for token, p in probs.items():
        total += p
        if total > u:
            return token
        if p > 0 and token:
            last = token
    return last
