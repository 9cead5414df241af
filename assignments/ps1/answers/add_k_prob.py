# %% right: Catches the missing history.
def add_k_prob(counts, history, token, *, k, vocab_size):
    try:
        followers = dict(counts).__getitem__(history)
    except KeyError:
        return 1 / vocab_size
    return (followers.get(token, 0) + k) / (sum(followers.values()) + k * vocab_size)


# %% right: Mixes the relative frequency with the uniform.
def add_k_prob(counts, history, token, *, k, vocab_size):
    followers = counts.get(history, Counter())
    total = sum(followers.values())
    if total == 0:
        return 1 / vocab_size
    share = total / (total + k * vocab_size)
    return share * followers[token] / total + (1 - share) / vocab_size


# %% right: Fills an array with all counts, seen or not.
def add_k_prob(counts, history, token, *, k, vocab_size):
    followers = counts.get(history, Counter())
    unseen = [0] * (vocab_size - len(followers))
    smoothed = np.array([*followers.values(), *unseen], dtype=float) + k
    smoothed /= smoothed.sum()
    if token in followers:
        return smoothed[list(followers).index(token)]
    return smoothed[-1]


# %% right: Adds up in a loop.
def add_k_prob(counts, history, token, *, k, vocab_size):
    above, below = k, vocab_size * k
    if history in counts:
        for word, n in counts[history].items():
            below += n
            if word == token:
                above += n
    return above / below


# %% right: one line
from collections import Counter


def add_k_prob(counts, history, token, *, k, vocab_size):
    counter = counts.get(history, Counter())
    return (counter[token] + k) / (sum(counter.values()) + k * vocab_size)


# %% right: mixture
# add-k is a mixture of the relative frequency and the uniform

def add_k_prob(counts, history, token, *, k, vocab_size):
    counter = counts.get(history, {})
    n = sum(counter.values())
    share = n / (n + k * vocab_size)
    frequency = counter.get(token, 0) / n if n else 0.0
    return share * frequency + (1 - share) / vocab_size


# %% right: branches
def add_k_prob(counts, history, token, *, k, vocab_size):
    if history not in counts:
        return 1.0 / vocab_size
    seen = counts[history].get(token, 0)
    everything = counts[history].total()
    return (k + seen) / (k * vocab_size + everything)


# %% right: fractions
from fractions import Fraction


def add_k_prob(counts, history, token, *, k, vocab_size):
    k = Fraction(k)
    counter = counts.get(history) or {}
    return float((k + counter.get(token, 0)) / (k * vocab_size + sum(counter.values())))


# %% right: copied counter
from collections import Counter


def add_k_prob(counts: dict, history: tuple, token, *, k: float, vocab_size: int) -> float:
    counter = Counter(counts.get(history, ()))
    denominator = k * vocab_size
    for count in counter.values():
        denominator += count
    counter[token] += k
    return counter[token] / denominator


# %% right: exact fractions
# the formula in exact fractions; a float k is an exact fraction too
from fractions import Fraction


def add_k_prob(counts, history, token, *, k, vocab_size):
    row, extra = counts.get(history, {}), Fraction(k)
    below = Fraction(sum(row.values())) + extra * vocab_size
    return float((row.get(token, 0) + extra) / below)


# %% wrong: unseen token enlarges v
# a token that was seen nowhere is counted as one more in the vocabulary.
# shows: tokens seen after no history: (0 + k) / (total + k (V + 1)).

from collections import Counter


def add_k_prob(counts, history, token, *, k, vocab_size):
    counter = counts.get(history, Counter())
    V = vocab_size + (not any(token in other for other in counts.values()))
    return (counter[token] + k) / (sum(counter.values()) + k * V)


# %% wrong: own vocabulary
# V is the number of different tokens in counts where that is larger than vocab_size... or smaller: vocab_size is not used.
# shows: any vocabulary with tokens that were never seen.

def add_k_prob(counts, history, token, *, k, vocab_size):
    V = len({t for counter in counts.values() for t in counter} | {token}) or vocab_size
    counter = counts.get(history, {})
    return (counter.get(token, 0) + k) / (sum(counter.values()) + k * V)


# %% wrong: adds k to the counter
# writes count + k into the caller's Counter.
# shows: counts after the call; a second call.

def add_k_prob(counts, history, token, *, k, vocab_size):
    if history not in counts:
        return 1 / vocab_size
    counter = counts[history]
    total = sum(counter.values()) + k * vocab_size
    counter[token] += k
    return counter[token] / total


# %% wrong: defaultdict grows
# square brackets on a defaultdict add the unseen history.
# shows: a defaultdict(Counter) and an unseen history: len(counts) afterwards.

def add_k_prob(counts, history, token, *, k, vocab_size):
    try:
        counter = counts[history]
    except KeyError:
        counter = {}
    return (counter.get(token, 0) + k) / (sum(counter.values()) + k * vocab_size)


# %% wrong: whole k
# k is made a whole number, at least 1.
# shows: fractions of k.

from collections import Counter


def add_k_prob(counts, history, token, *, k, vocab_size):
    k = max(1, round(k))
    counter = counts.get(history, Counter())
    return (counter[token] + k) / (counter.total() + k * vocab_size)


# %% wrong: half cached
# the denominators are kept by history and k: stale for another vocab_size or other counts.
# shows: the same history and k with another vocab_size.

from collections import Counter


_denominators = {}


def add_k_prob(counts, history, token, *, k, vocab_size):
    counter = counts.get(history, Counter())
    if (history, k) not in _denominators:
        _denominators[history, k] = sum(counter.values()) + k * vocab_size
    return (counter[token] + k) / _denominators[history, k]


# %% wrong: unseen history zero
# 0 after an unseen history, as in task 2.
# shows: unseen history.

def add_k_prob(counts, history, token, *, k, vocab_size):
    if history not in counts:
        return 0.0
    return (counts[history][token] + k) / (sum(counts[history].values()) + k * vocab_size)


# %% wrong: k of the seen only
# k in the numerator for seen tokens, k / V for others.
# shows: unseen tokens with V > 1.

def add_k_prob(counts, history, token, *, k, vocab_size):
    counter = counts.get(history, {})
    total = sum(counter.values()) + k * vocab_size
    if token in counter or not counter:
        return (counter.get(token, 0) + k) / total
    return k / vocab_size / total


# %% wrong: shortened history
# an unseen history is shortened from the left until it is found.
# shows: unseen ("dog", "the") where ("the",) is known: must be 1 / V.

from collections import Counter


def add_k_prob(counts, history, token, *, k, vocab_size):
    while len(history) > 1 and history not in counts:
        history = history[1:]
    counter = counts.get(history, Counter())
    return (counter[token] + k) / (sum(counter.values()) + k * vocab_size)


# %% wrong: float vocabulary int32
# the denominator is computed with numpy's int32 where k is whole: it overflows for large vocabularies and k.
# shows: k = 1000 and vocab_size = 5_000_000.

import numpy as np
from collections import Counter


def add_k_prob(counts, history, token, *, k, vocab_size):
    counter = counts.get(history, Counter())
    kind = np.int32 if float(k).is_integer() else np.float64
    with np.errstate(all="ignore"):
        total = (np.array([sum(counter.values())], kind) + np.array([k], kind) * np.array([vocab_size], kind))[0]
    return float(counter[token] + k) / float(total)


# %% wrong: shortens unseen history
# drops tokens from the front of an unseen history until it finds a known one; breaks "After a history that was never seen, all V tokens are equally probable" (and "looked up as it is")
# shows: add_k_prob({("a",): Counter(x=3)}, ("b", "a"), "x", k=1, vocab_size=7) is 0.4 in place of 1/7
def add_k_prob(counts, history, token, *, k, vocab_size):
    while history and history not in counts:
        history = history[1:]
    row = counts.get(history, {})
    return (row.get(token, 0) + k) / (sum(row.values()) + k * vocab_size)


# %% wrong: counts added up in float32
# Counts are added up in float32, which is inexact above 16 million, so the nine digits fail on a large corpus.
# shows: counts of 3,000,000,001 and 20,000,003 after one history
def add_k_prob(counts, history, token, *, k, vocab_size):
    row = counts.get(history, {})
    values = np.fromiter(row.values(), dtype=np.float32, count=len(row))
    return (row.get(token, 0) + k) / (float(values.sum()) + k * vocab_size)
