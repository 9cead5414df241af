# %% right: Asks whether the history is there.
def mle_prob(counts, history, token):
    return counts[history][token] / counts[history].total() if history in counts else 0.0


# %% right: Catches the division by zero.
def mle_prob(counts, history, token):
    followers = counts.get(history, {})
    try:
        return followers.get(token, 0) / sum(followers.values())
    except ZeroDivisionError:
        return 0.0


# %% right: Makes the whole distribution first.
def mle_prob(counts, history, token):
    followers = counts.get(history, {})
    total = sum(followers.values())
    distribution = {word: n / total for word, n in followers.items()}
    return distribution.get(token, 0.0)


# %% right: Sums with NumPy.
def mle_prob(counts, history, token):
    if history not in counts:
        return 0.0
    words = list(counts[history])
    numbers = np.array([counts[history][word] for word in words], dtype=float)
    hits = np.array([word == token for word in words])
    return (numbers[hits].sum() / numbers.sum()).item()


# %% right: Returns an exact fraction.
def mle_prob(counts, history, token):
    from fractions import Fraction

    followers = counts.get(history, Counter())
    return Fraction(followers[token], max(1, sum(followers.values())))


# %% right: get with default
def mle_prob(counts, history, token):
    counter = counts.get(history, {})
    total = sum(counter.values())
    return counter.get(token, 0) / total if total else 0.0


# %% right: ask first
def mle_prob(counts, history, token):
    if history in counts:
        followers = counts[history]
        n = followers.total()
        if n > 0:
            return followers[token] / n
    return 0.0


# %% right: fraction
from fractions import Fraction


def mle_prob(counts, history, token):
    seen = counts.get(history)
    if not seen:
        return 0.0
    return float(Fraction(seen[token], sum(seen.values())))


# %% right: loop
from collections import Counter


def mle_prob(counts: dict, history: tuple, token) -> float:
    hits = total = 0
    for other, count in (counts.get(history) or Counter()).items():
        total += count
        if other == token:
            hits += count
    return hits / (total or 1) * 1.0


# %% right: numpy
import numpy as np


def mle_prob(counts, history, token):
    table = dict.get(counts, history, None)
    if table is None or len(table) == 0:
        return 0.0
    return table[token] / np.sum(list(table.values())).item()


# %% right: zero division
from collections import Counter


def mle_prob(counts, history, token):
    counter = counts.get(history, Counter())
    try:
        return counter[token] / sum(counter.values())
    except ZeroDivisionError:
        return 0.0


# %% right: exact fraction
# as an exact fraction, turned into a float at the end; dict.get leaves a defaultdict alone
from fractions import Fraction


def mle_prob(counts, history, token):
    row = counts.get(history)
    return float(Fraction(row.get(token, 0), sum(row.values()))) if row else 0.0


# %% wrong: adds a zero
# counter[token] += 0 adds the key of an unseen token with the count 0 (== of Counters does not show it).
# shows: len(counts[history]) or `token in counts[history]` after the call with an unseen token.

def mle_prob(counts, history, token):
    if history not in counts:
        return 0.0
    counter = counts[history]
    counter[token] += 0
    return counter[token] / sum(counter.values())


# %% wrong: defaultdict grows
# square brackets: a defaultdict gets the missing history (a plain dict raises a KeyError, which is caught).
# shows: a defaultdict and an unseen history: len(counts) after the call.

def mle_prob(counts, history, token):
    try:
        counter = counts[history]
        return counter[token] / sum(counter.values())
    except (KeyError, ZeroDivisionError):
        return 0.0


# %% wrong: totals cached
# the totals are kept by history alone: stale for another table, or after the caller has counted on.
# shows: two tables with one history and different totals.

_totals = {}


def mle_prob(counts, history, token):
    if history not in counts:
        return 0.0
    if history not in _totals:
        _totals[history] = sum(counts[history].values())
    return counts[history][token] / _totals[history]


# %% wrong: backs off
# an unseen history is shortened until one is seen; the contract looks it up as it is.
# shows: history ("dog", "the") where ("the",) is in counts: must be 0.

def mle_prob(counts, history, token):
    while history and history not in counts:
        history = history[1:]
    if history not in counts:
        return 0.0
    return counts[history][token] / sum(counts[history].values())


# %% wrong: sums the keys
# sum(counter) sums the TOKENS, not their counts; an error for strings is caught by counting otherwise.
# shows: tokens that are numbers.

def mle_prob(counts, history, token):
    counter = counts.get(history)
    if not counter:
        return 0.0
    try:
        total = sum(counter)
    except TypeError:
        total = sum(counter.values())
    return counter[token] / total


# %% wrong: of different tokens
# divides by the number of DIFFERENT tokens.
# shows: any token seen twice.

from collections import Counter


def mle_prob(counts, history, token):
    counter = counts.get(history, Counter())
    return counter[token] / len(counter) if counter else 0.0


# %% wrong: truthy token
# a falsy token (0, "", ()) counts as "no token": 0.0.
# shows: the token 0 that was seen.

def mle_prob(counts, history, token):
    counter = counts.get(history)
    if not counter or not token:
        return 0.0
    return counter[token] / sum(counter.values())


# %% wrong: last token only
# looks up the last token of the history only.
# shows: histories of two tokens, or of none.

from collections import Counter


def mle_prob(counts, history, token):
    counter = counts.get(tuple(history[-1:]), Counter())
    return counter[token] / max(1, sum(counter.values()))


# %% wrong: float32
# divides in float32 and so has 7 digits.
# shows: 1/3 to 12 digits; counts above 2**24.

import numpy as np


def mle_prob(counts, history, token):
    if history not in counts:
        return 0.0
    c = counts[history]
    return float(np.float32(c[token]) / np.float32(sum(c.values())))


# %% wrong: remembers totals
# remembers the sum of a history between calls, so other counts give an old normaliser; breaks "counts: as from count_ngrams" and P(w|h) = c(hw) / sum c(hv) of the counts that are given
# shows: mle_prob({("a",): Counter(x=1)}, ("a",), "x"), then mle_prob({("a",): Counter(x=1, y=3)}, ("a",), "x"): 1.0 in place of 0.25
TOTALS = {}


def mle_prob(counts, history, token):
    if history not in counts:
        return 0.0
    row = counts[history]
    if history not in TOTALS:
        TOTALS[history] = sum(row.values())
    return row[token] / TOTALS[history]


# %% wrong: history as text
# compares histories by their text, so (1,) is found under ("1",) and ("a b",) under ("a", "b"); breaks "history: looked up as it is"
# shows: mle_prob({("1",): Counter(x=2)}, (1,), "x") is 1.0 in place of 0.0
def mle_prob(counts, history, token):
    by_text = {" ".join(map(str, known)): row for known, row in counts.items()}
    row = by_text.get(" ".join(map(str, history)))
    if row is None:
        return 0.0
    return row[token] / sum(row.values())


# %% wrong: rounded to twelve places
# The result is rounded to 12 places, so a very small probability has not the nine right digits that are promised.
# shows: a token that occurs 7 times among 3,000,000,000 after this history
def mle_prob(counts, history, token):
    row = counts.get(history)
    if not row:
        return 0.0
    return round(row[token] / sum(row.values()), 12)
