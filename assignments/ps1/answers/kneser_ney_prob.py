# %% right: Calls itself with one order less.
def kneser_ney_prob(counts_by_order, history, token, *, discounts, vocab_size):
    if not counts_by_order:
        return 1 / vocab_size
    *lower_counts, counts = counts_by_order
    *lower_discounts, discount = discounts
    lower = kneser_ney_prob(
        lower_counts, history, token, discounts=lower_discounts, vocab_size=vocab_size
    )
    length = len(lower_counts)
    followers = counts.get(history[len(history) - length :], {})
    if length > len(history) or not followers:
        return lower
    total = sum(followers.values())
    share = discount * len(followers) / total
    return max(followers.get(token, 0) - discount, 0) / total + share * lower


# %% right: Walks down from the highest order and keeps the share that is still to be spent.
def kneser_ney_prob(counts_by_order, history, token, *, discounts, vocab_size):
    prob, left = 0.0, 1.0
    for length in reversed(range(len(counts_by_order))):
        if length > len(history):
            continue
        followers = counts_by_order[length].get(history[len(history) - length :])
        if followers is None:
            continue
        total = followers.total()
        if followers[token]:
            prob += left * (followers[token] - discounts[length]) / total
        left *= discounts[length] * len(followers) / total
    return prob + left / vocab_size


# %% right: Adds up what was taken off each count.
def kneser_ney_prob(counts_by_order, history, token, *, discounts, vocab_size):
    prob = 1 / vocab_size
    for order, (counts, discount) in enumerate(zip(counts_by_order, discounts, strict=True), 1):
        suffix = tuple(history[len(history) - (order - 1) :])
        if order - 1 <= len(history) and suffix in counts:
            taken = {word: min(n, discount) for word, n in counts[suffix].items()}
            kept = counts[suffix][token] - taken.get(token, 0)
            prob = (kept + sum(taken.values()) * prob) / sum(counts[suffix].values())
    return prob


# %% right: Discounts whole rows with NumPy.
def kneser_ney_prob(counts_by_order, history, token, *, discounts, vocab_size):
    suffixes = [history[len(history) - n :] for n in range(len(history) + 1)]
    prob = 1 / vocab_size
    for counts, suffix, discount in zip(counts_by_order, suffixes, discounts, strict=False):
        if suffix not in counts:
            break
        words = list(counts[suffix])
        numbers = np.array([counts[suffix][word] for word in words], dtype=float)
        kept = np.maximum(numbers - discount, 0)
        own = kept[words.index(token)] if token in words else 0.0
        prob = own / numbers.sum() + (1 - kept.sum() / numbers.sum()) * prob
    return prob


# %% right: climbing
def kneser_ney_prob(counts_by_order, history, token, *, discounts, vocab_size):
    p = 1 / vocab_size
    for length, (counts, discount) in enumerate(zip(counts_by_order, discounts)):
        if length > len(history):
            break
        counter = counts.get(history[len(history) - length :])
        if not counter:
            continue
        total = sum(counter.values())
        p = max(counter[token] - discount, 0) / total + discount * len(counter) / total * p
    return p


# %% right: calls itself
from collections import Counter


def kneser_ney_prob(counts_by_order, history, token, *, discounts, vocab_size):
    if not counts_by_order:
        return 1 / vocab_size
    *lower_counts, counts = counts_by_order
    *lower_discounts, discount = discounts
    below = kneser_ney_prob(lower_counts, history, token, discounts=lower_discounts, vocab_size=vocab_size)
    length = len(lower_counts)
    if length > len(history):
        return below
    counter = counts.get(tuple(history[len(history) - length :]), Counter())
    total = counter.total()
    if total == 0:
        return below
    return (max(counter[token] - discount, 0) + discount * sum(c > 0 for c in counter.values()) * below) / total


# %% right: reduce
import functools


def kneser_ney_prob(counts_by_order, history, token, *, discounts, vocab_size):
    def climb(p, level):
        n, counts, d = level
        seen = counts.get(tuple(history)[len(history) - n :]) if n <= len(history) else None
        if not seen:
            return p
        kept = max(seen.get(token, 0) - d, 0)
        return (kept + d * len(seen) * p) / sum(seen.values())

    levels = zip(range(len(discounts)), counts_by_order, discounts)
    return functools.reduce(climb, levels, 1 / vocab_size)


# %% right: freed mass
# what the discounts free is 1 minus what the seen tokens keep

import math


def kneser_ney_prob(counts_by_order, history, token, *, discounts, vocab_size):
    p = 1.0 / vocab_size
    for n in range(1, len(counts_by_order) + 1):
        start = len(history) - (n - 1)
        if start < 0:
            return p
        counter, d = counts_by_order[n - 1].get(history[start:]), discounts[n - 1]
        if counter:
            total = sum(counter.values())
            kept = {t: (c - d) / total for t, c in counter.items() if c > 0}
            p = kept.get(token, 0.0) + (1 - math.fsum(kept.values())) * p
    return p


# %% right: list of terms
def kneser_ney_prob(counts_by_order: list, history: tuple, token, *, discounts: list, vocab_size: int) -> float:
    result, share = 0.0, 1.0  # from the highest order down: share is what is left to give
    for n in range(len(counts_by_order), 0, -1):
        if n - 1 > len(history):
            continue
        key = history[len(history) - (n - 1) :] if n > 1 else ()
        counter = counts_by_order[n - 1].get(key)
        if counter:
            total = sum(counter.values())
            if counter[token]:
                result += share * (counter[token] - discounts[n - 1]) / total
            share *= discounts[n - 1] * len(counter) / total
    return result + share / vocab_size


# %% right: from the top down
# from the highest order down, with the probability mass that is still to be given away
def kneser_ney_prob(counts_by_order, history, token, *, discounts, vocab_size):
    answer, left = 0.0, 1.0
    for counts, discount, length in sorted(
        zip(counts_by_order, discounts, range(len(discounts))), key=lambda level: -level[2]
    ):
        row = counts.get(history[-length:] if length else ()) if length <= len(history) else None
        if row:
            total = sum(row.values())
            if token in row:
                answer += left * (row[token] - discount) / total
            left *= discount * len(row) / total
    return answer + left / vocab_size


# %% wrong: discounts backwards
# the discounts are used from the other end.
# shows: discounts that differ (all tests with equal ones are right).

def kneser_ney_prob(counts_by_order, history, token, *, discounts, vocab_size):
    p = 1 / vocab_size
    for n, (counts, d) in enumerate(zip(counts_by_order, discounts[::-1])):
        counter = counts.get(history[len(history) - n :]) if n <= len(history) else None
        if counter:
            total = sum(counter.values())
            p = max(counter[token] - d, 0) / total + d * len(counter) / total * p
    return p


# %% wrong: short history found
# history[-n:] of a short history is shorter than n, and the tables know short histories, (eos,).
# shows: order 3 with the history (eos,): order 3 must not be consulted.

def kneser_ney_prob(counts_by_order, history, token, *, discounts, vocab_size):
    p = 1 / vocab_size
    for n, (counts, d) in enumerate(zip(counts_by_order, discounts)):
        counter = counts.get(history[-n:] if n else ())
        if counter:
            total = sum(counter.values())
            p = max(counter[token] - d, 0) / total + d * len(counter) / total * p
    return p


# %% wrong: first discount for all
# D_1 is used at every order.
# shows: discounts that differ.

def kneser_ney_prob(counts_by_order, history, token, *, discounts, vocab_size):
    def at(n):
        if n == 0:
            return 1 / vocab_size
        lower = at(n - 1)
        if len(history) < n - 1:
            return lower
        counter = counts_by_order[n - 1].get(history[len(history) - n + 1 :])
        if not counter:
            return lower
        total = sum(counter.values())
        return max(counter[token] - discounts[0], 0) / total + discounts[0] * len(counter) / total * lower

    return at(len(counts_by_order))


# %% wrong: total of counts for n1
# N1+ is counted over tokens seen exactly once.
# shows: histories after which a token was seen twice or more.

def kneser_ney_prob(counts_by_order, history, token, *, discounts, vocab_size):
    p = 1 / vocab_size
    for n, counts in enumerate(counts_by_order):
        if n > len(history) or history[len(history) - n :] not in counts:
            continue
        counter = counts[history[len(history) - n :]]
        total = sum(counter.values())
        ones = sum(c == 1 for c in counter.values())
        p = max(counter[token] - discounts[n], 0) / total + discounts[n] * ones / total * p
    return p


# %% wrong: negative probability
# without max(..., 0): an unseen token gets a negative part (the sum over the seen ones hides it).
# shows: unseen tokens.

def kneser_ney_prob(counts_by_order, history, token, *, discounts, vocab_size):
    p = 1 / vocab_size
    for n, counts in enumerate(counts_by_order):
        counter = counts.get(history[len(history) - n :]) if n <= len(history) else None
        if counter:
            total = sum(counter.values())
            p = (counter[token] - discounts[n] + discounts[n] * len(counter) * p) / total
    return p


# %% wrong: backoff not interpolated
# a seen token gets the discounted part alone; the lower order is asked for unseen tokens only.
# shows: seen tokens; the probabilities sum to less than 1.

def kneser_ney_prob(counts_by_order, history, token, *, discounts, vocab_size):
    p = 1 / vocab_size
    for n, counts in enumerate(counts_by_order):
        counter = counts.get(history[len(history) - n :]) if n <= len(history) else None
        if counter:
            total = sum(counter.values())
            if token in counter:
                p = (counter[token] - discounts[n]) / total
            else:
                p = discounts[n] * len(counter) / total * p
    return p


# %% wrong: asking adds
# counter.setdefault(token, 0) writes the token into the caller's Counter, and N1+ grows by one from then on.
# shows: an unseen token; the second call gives another number; the table is changed.

def kneser_ney_prob(counts_by_order, history, token, *, discounts, vocab_size):
    p = 1 / vocab_size
    for n, counts in enumerate(counts_by_order):
        counter = counts.get(history[len(history) - n :]) if n <= len(history) else None
        if counter:
            total, kinds = sum(counter.values()), len(counter)
            p = max(counter.setdefault(token, 0) - discounts[n], 0) / total + discounts[n] * kinds / total * p
    return p


# %% wrong: cached lower order
# P_1 is kept per token between calls: stale for another table, discount or vocabulary.
# shows: two models in a row with the same tokens.

from collections import Counter


_unigram = {}


def kneser_ney_prob(counts_by_order, history, token, *, discounts, vocab_size):
    if token not in _unigram:
        counter = counts_by_order[0].get((), Counter())
        total = sum(counter.values())
        _unigram[token] = (
            max(counter[token] - discounts[0], 0) / total + discounts[0] * len(counter) / total / vocab_size if total else 1 / vocab_size
        )
    p = _unigram[token]
    for n in range(1, len(counts_by_order)):
        counter = counts_by_order[n].get(history[len(history) - n :]) if n <= len(history) else None
        if counter:
            total = sum(counter.values())
            p = max(counter[token] - discounts[n], 0) / total + discounts[n] * len(counter) / total * p
    return p


# %% wrong: no uniform below
# nothing below order 1: an unseen token has probability 0.
# shows: everywhere, above all tokens that were never seen.

from collections import Counter


def kneser_ney_prob(counts_by_order, history, token, *, discounts, vocab_size):
    unigrams = counts_by_order[0].get((), Counter())
    p = unigrams[token] / sum(unigrams.values()) if unigrams else 1 / vocab_size
    for n in range(1, len(counts_by_order)):
        counter = counts_by_order[n].get(history[len(history) - n :]) if n <= len(history) else None
        if counter:
            total = sum(counter.values())
            p = max(counter[token] - discounts[n], 0) / total + discounts[n] * len(counter) / total * p
    return p


# %% wrong: shortens within an order
# if order n never saw its history, tries shorter ones in the table of the SAME order, where the starts of documents stand; breaks "If order n never saw its history ... then P_n is simply P_(n-1)."
# shows: three orders, history ("sat", EOS): order 3 finds (EOS,) in its own table
def kneser_ney_prob(counts_by_order, history, token, *, discounts, vocab_size):
    p = 1 / vocab_size
    for length, (counts, discount) in enumerate(zip(counts_by_order, discounts)):
        if length > len(history):
            break
        tail = history[len(history) - length :]
        while tail and tail not in counts:
            tail = tail[1:]
        row = counts.get(tail)
        if row:
            total = sum(row.values())
            p = (max(row[token] - discount, 0) + discount * len(row) * p) / total
    return p


# %% wrong: inserts a discount
# puts a 0 in front of the caller's discounts, so that discounts[n] belongs to order n; breaks "Do not change your arguments. The caller still needs them."
# shows: discounts = [0.5, 0.5]; a call leaves [0.0, 0.5, 0.5], and the second call with it gives another answer
def kneser_ney_prob(counts_by_order, history, token, *, discounts, vocab_size):
    discounts.insert(0, 0.0)

    def prob(n):
        if n == 0:
            return 1 / vocab_size
        lower = prob(n - 1)
        row = counts_by_order[n - 1].get(history[len(history) - n + 1 :]) if len(history) >= n - 1 else None
        if not row:
            return lower
        total, discount = sum(row.values()), discounts[n]
        return max(row[token] - discount, 0) / total + discount * len(row) / total * lower

    return prob(len(counts_by_order))


# %% wrong: at most nine orders
# Orders above nine are not asked.
# shows: eleven orders and a history of ten tokens
def kneser_ney_prob(counts_by_order, history, token, *, discounts, vocab_size):
    """Return the interpolated Kneser–Ney probability of `token` after `history`."""
    prob = 1 / vocab_size
    for length, counts in enumerate(counts_by_order):
        if length > min(len(history), 8):
            break
        followers = counts.get(history[len(history) - length :])
        if followers is None:
            break
        discount = discounts[length]
        total = sum(followers.values())
        kept = max(followers[token] - discount, 0)
        prob = (kept + discount * len(followers) * prob) / total
    return prob
