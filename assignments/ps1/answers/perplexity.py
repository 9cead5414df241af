# %% right: Takes the mean with NumPy.
def perplexity(log_probs):
    with np.errstate(over="ignore"):
        return np.exp(-np.mean(log_probs))


# %% right: Keeps a running mean.
def perplexity(log_probs):
    mean = 0.0
    for n, log_prob in enumerate(log_probs, start=1):
        if log_prob == -math.inf:
            return math.inf
        mean += (log_prob - mean) / n
    try:
        return math.exp(-mean)
    except OverflowError:
        return math.inf


# %% right: Uses the standard library's mean.
import sys


def perplexity(log_probs):
    from statistics import fmean

    nats = fmean(-float(log_prob) for log_prob in log_probs)
    return math.inf if nats > math.log(sys.float_info.max) else math.exp(nats)


# %% right: Goes by way of bits.
def perplexity(log_probs):
    bits = -sum(log_prob / math.log(2) for log_prob in log_probs) / len(log_probs)
    return float(2**bits) if bits < 1024 else math.inf


# %% right: Adds in the logarithm with NumPy, and asks torch for the exponential.
import torch


def perplexity(log_probs):
    total = torch.tensor(-np.sum(np.asarray(log_probs, dtype=float)) / len(log_probs))
    return total.exp().item()


# %% right: mean then exp
import math


def perplexity(log_probs):
    surprise = -sum(log_probs) / len(log_probs)
    try:
        return math.exp(surprise)
    except OverflowError:
        return math.inf


# %% right: numpy mean
import numpy as np


def perplexity(log_probs):
    with np.errstate(over="ignore"):
        return float(np.exp(-np.mean(np.asarray(log_probs, dtype=float))))


# %% right: running mean
import math


def perplexity(log_probs):
    mean = 0.0
    for n, value in enumerate(log_probs, start=1):
        if value == -math.inf:
            return math.inf
        mean += (value - mean) / n
    try:
        return math.exp(-mean)
    except OverflowError:
        return math.inf


# %% right: fsum
import math
import numpy as np


def perplexity(log_probs) -> float:
    values = list(map(float, log_probs))
    if any(math.isinf(v) for v in values):
        return float("inf")
    return float(np.float64(np.exp(-math.fsum(values) / len(values))))


# %% right: statistics
import numpy as np


import statistics


def perplexity(log_probs):
    values = [float(v) for v in log_probs]
    if min(values) == float("-inf"):
        return float("inf")
    return float(np.exp(-statistics.fmean(values)))


# %% right: numpy scalar
# a numpy float64 is a float

import numpy as np


def perplexity(log_probs):
    total = np.add.reduce(np.array(log_probs, dtype=np.float64))
    return np.exp(-total / np.size(log_probs))


# %% right: corrected running mean
# a running mean that is corrected by each token, infinity met on the way, and the exponential as a product of two halves
import math


def perplexity(log_probs):
    mean = 0.0
    for n, log_prob in enumerate(log_probs, 1):
        if log_prob == -math.inf:
            return math.inf
        mean += (float(log_prob) - mean) / n
    try:
        half = math.exp(-mean / 2)
    except OverflowError:
        return math.inf
    return half * half


# %% wrong: asarray in place
# np.asarray does not copy an array: the caller's log probabilities change their sign.
# shows: a float64 array as argument, compared before and after.

import numpy as np


def perplexity(log_probs):
    surprise = np.asarray(log_probs, dtype=np.float64)
    surprise *= -1
    return float(np.exp(surprise.mean()))


# %% wrong: truth of an array
# "if not log_probs" is an error for an array of several numbers.
# shows: a NumPy array of two or more.

import math


def perplexity(log_probs):
    if not log_probs:
        return 1.0
    return math.exp(-sum(log_probs) / len(log_probs))


# %% wrong: product by pieces
# multiplies the probabilities, 100 at a time, and takes roots: one piece of very improbable tokens is 0.
# shows: tokens of probability 1e-10: 1e-1000 is 0, the result inf.

import math


def perplexity(log_probs):
    n, result = len(log_probs), 1.0
    for start in range(0, n, 100):
        product = 1.0
        for value in log_probs[start : start + 100]:
            product *= math.exp(value)
        if product == 0:
            return math.inf
        result *= product ** (-1 / n)
    return result


# %% wrong: finite only
# leaves impossible tokens out where others are possible; inf only if all are impossible.
# shows: any -inf beside finite numbers.

import math


def perplexity(log_probs):
    finite = [value for value in log_probs if value > -math.inf]
    return math.exp(-sum(finite) / len(finite)) if finite else math.inf


# %% wrong: float32 sum
# sums in float32, one after the other: in a text of a hundred thousand tokens the small numbers get lost.
# shows: 100,000 tokens (error in the 4th to 6th digit).

import numpy as np


def perplexity(log_probs):
    total = np.float32(0)
    for value in log_probs:
        total += np.float32(value)
    return float(np.exp(-float(total) / len(log_probs)))


# %% wrong: list only
# log_probs.count and .copy are methods of lists: tuples have no copy, arrays no count.
# shows: a tuple, an array.

import math


def perplexity(log_probs):
    if log_probs.count(-math.inf):
        return math.inf
    values = log_probs.copy()
    total = 0.0
    while values:
        total -= values.pop()
    return math.exp(total / len(log_probs))


# %% wrong: base two
# 2 to the power of nats.
# shows: everywhere but at 0.

import numpy as np


def perplexity(log_probs):
    return float(2 ** -np.mean(log_probs))


# %% wrong: mean of perplexities
# the mean of 1/p, not the exponential of the mean.
# shows: probabilities that differ.

import math


def perplexity(log_probs):
    return sum(math.exp(-v) for v in log_probs) / len(log_probs)


# %% wrong: recursion
# sums by recursion from the right: RecursionError for a thousand tokens.
# shows: long texts.

import math


def perplexity(log_probs):
    def total(i):
        return 0.0 if i == len(log_probs) else log_probs[i] + total(i + 1)

    return math.exp(-total(0) / len(log_probs))


# %% wrong: off by one
# divides by N - 1 for N > 1.
# shows: N > 1.

import math


def perplexity(log_probs):
    return math.exp(-sum(log_probs) / max(len(log_probs) - 1, 1))


# %% wrong: zero is no target
# targets of probability 1 (log 0.0) are skipped like empty entries.
# shows: a 0.0 (also -0.0) among the log probabilities; all of them: a division by 0.

import math


def perplexity(log_probs):
    values = [v for v in log_probs if v]
    return math.exp(-sum(values) / len(values))


# %% wrong: infinite too early
# says infinity from a mean of 700 on, to be safe, though floats reach e to the 709.78; breaks "inf if ... the perplexity is too large for a float"
# shows: perplexity([-705.0]) is inf in place of 1.5e306
import math


def perplexity(log_probs):
    mean = -math.fsum(log_probs) / len(log_probs)
    return math.inf if mean > 700 else math.exp(mean)


# %% wrong: negates in place
# np.asarray makes no copy of an array, so `*=` turns the caller's numbers round; breaks "Do not change your arguments."
# shows: a = np.array([-1.0, -2.0]); perplexity(a) leaves a == [1.0, 2.0], and a second call gives another answer
import numpy as np


def perplexity(log_probs):
    surprises = np.asarray(log_probs, dtype=float)
    surprises *= -1
    with np.errstate(over="ignore"):
        return float(np.exp(surprises.mean()))


# %% wrong: clips each logarithm
# One far below counts less than it is.
# shows: [-2e5] + [-1.5] * 1999 gives e^20 or so instead of e^101
def perplexity(log_probs):
    """Return the exponential of the mean negative log-probability."""
    mean = math.fsum((max(p, -10000.0) if p > -math.inf else p for p in log_probs)) / len(log_probs)
    try:
        return math.exp(-mean)
    except OverflowError:
        return math.inf
