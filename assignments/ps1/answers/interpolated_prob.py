# %% right: Collects pairs of weight and estimate, then averages.
def interpolated_prob(counts_by_order, history, token, *, weights, vocab_size):
    pairs = [(weights[0], 1 / vocab_size)]
    for order, (counts, weight) in enumerate(zip(counts_by_order, weights[1:], strict=True), 1):
        if len(history) >= order - 1:
            followers = counts.get(tuple(history[len(history) - order + 1 :]), {})
            if followers:
                pairs.append((weight, followers.get(token, 0) / sum(followers.values())))
    return sum(w * p for w, p in pairs) / sum(w for w, _ in pairs)


# %% right: Drops the highest order and calls itself, from long histories to short ones.
def interpolated_prob(counts_by_order, history, token, *, weights, vocab_size):
    def sums(order):
        if order == 0:
            return weights[0] / vocab_size, weights[0]
        mixed, used = sums(order - 1)
        if order - 1 > len(history):
            return mixed, used
        followers = counts_by_order[order - 1].get(history[len(history) - order + 1 :])
        if not followers:
            return mixed, used
        share = followers[token] / sum(followers.values())
        return mixed + weights[order] * share, used + weights[order]

    mixed, used = sums(len(counts_by_order))
    return mixed / used


# %% right: Marks the orders that have an opinion, then takes a dot product.
def interpolated_prob(counts_by_order, history, token, *, weights, vocab_size):
    probs, known = [1 / vocab_size], [True]
    for length, counts in enumerate(counts_by_order):
        start = len(history) - length
        followers = counts.get(history[start:]) if start >= 0 else None
        known.append(bool(followers))
        probs.append(followers[token] / followers.total() if followers else 0.0)
    chosen = np.array(weights) * np.array(known)
    return chosen @ np.array(probs) / chosen.sum()


# %% right: Finds the highest order that is known, then sums over a comprehension.
def interpolated_prob(counts_by_order, history, token, *, weights, vocab_size):
    suffixes = [history[len(history) - n :] for n in range(min(len(history) + 1, len(weights) - 1))]
    rows = [counts.get(s) for s, counts in zip(suffixes, counts_by_order, strict=False)]
    rows = [row for row in rows if row is not None]
    used = weights[: len(rows) + 1]
    estimates = [1 / vocab_size, *(row[token] / sum(row.values()) for row in rows)]
    return sum(w * p for w, p in zip(used, estimates, strict=True)) / sum(used)


# %% right: two sums
def interpolated_prob(counts_by_order, history, token, *, weights, vocab_size):
    total, used = weights[0] / vocab_size, weights[0]
    for length, counts in enumerate(counts_by_order):
        if length > len(history):
            break
        counter = counts.get(history[len(history) - length :])
        if counter:
            total += weights[length + 1] * counter[token] / sum(counter.values())
            used += weights[length + 1]
    return total / used


# %% right: list of opinions
import math


def interpolated_prob(counts_by_order, history, token, *, weights, vocab_size):
    opinions = [(weights[0], 1 / vocab_size)]
    for n, (counts, weight) in enumerate(zip(counts_by_order, weights[1:])):
        key = tuple(history[-n:]) if n else ()
        if len(key) == n and counts.get(key):
            counter = counts[key]
            opinions.append((weight, counter.get(token, 0) / counter.total()))
    return math.fsum(w * p for w, p in opinions) / math.fsum(w for w, _ in opinions)


# %% right: numpy average
import numpy as np


def interpolated_prob(counts_by_order, history, token, *, weights, vocab_size):
    p = np.full(len(weights), np.nan)
    p[0] = 1 / vocab_size
    for n, counts in enumerate(counts_by_order, start=1):
        start = len(history) - (n - 1)
        followers = counts.get(history[start:]) if start >= 0 else None
        if followers:
            p[n] = followers[token] / sum(followers.values())
    knows = ~np.isnan(p)
    return float(np.average(p[knows], weights=np.asarray(weights)[knows]))


# %% right: recursive
def interpolated_prob(counts_by_order, history, token, *, weights, vocab_size):
    def sums(n):
        if n == 0:
            return weights[0] / vocab_size, weights[0]
        total, used = sums(n - 1)
        if n - 1 <= len(history):
            counter = counts_by_order[n - 1].get(tuple(history[len(history) - n + 1 :]))
            if counter:
                return total + weights[n] * counter[token] / sum(counter.values()), used + weights[n]
        return total, used

    total, used = sums(len(counts_by_order))
    return total / used


# %% right: generator helper
def _suffix(history, length):
    return tuple(history)[len(history) - length :] if length <= len(history) else None


def interpolated_prob(counts_by_order: list, history: tuple, token, *, weights: list, vocab_size: int) -> float:
    tables = [({token: 1}, vocab_size, weights[0])]
    for n, counts in enumerate(counts_by_order, 1):
        h = _suffix(history, n - 1)
        if h is not None and h in counts and sum(counts[h].values()):
            tables.append((counts[h], sum(counts[h].values()), weights[n]))
    z = sum(w for _, _, w in tables)
    return sum(w / z * table.get(token, 0) / n for table, n, w in tables)


# %% right: masked vectors
# opinions as a vector with nan for none, and one masked dot product
import numpy as np


def interpolated_prob(counts_by_order, history, token, *, weights, vocab_size):
    def opinion(n, counts):
        tail = tuple(reversed(history[::-1][: n - 1]))
        row = counts.get(tail) if len(tail) == n - 1 else None
        return float("nan") if not row else row.get(token, 0) / sum(row.values())

    said = np.array(
        [1 / vocab_size, *(opinion(n, counts) for n, counts in enumerate(counts_by_order, 1))]
    )
    heard = ~np.isnan(said)
    return float(np.average(said[heard], weights=np.asarray(weights, float)[heard]))


# %% wrong: short history found
# order n looks up history[-(n-1):], which is SHORTER than n - 1 for a short history, and finds the beginnings of documents, (eos,), in the table.
# shows: order 3 and more, history (eos,): order 3 must be left out though (eos,) is a key of its table.

def interpolated_prob(counts_by_order, history, token, *, weights, vocab_size):
    total, used = weights[0] / vocab_size, weights[0]
    for n, (counts, weight) in enumerate(zip(counts_by_order, weights[1:]), start=1):
        h = history[-(n - 1) :] if n > 1 else ()
        counter = counts.get(h)
        if counter:
            total += weight * counter[token] / sum(counter.values())
            used += weight
    return total / used


# %% wrong: unseen token has no opinion
# an order that saw the history but not the token is left out too.
# shows: token never seen after a seen history; the probabilities sum to more than 1.

def interpolated_prob(counts_by_order, history, token, *, weights, vocab_size):
    total, used = weights[0] / vocab_size, weights[0]
    for n, counts in enumerate(counts_by_order, start=1):
        if len(history) < n - 1:
            continue
        counter = counts.get(history[len(history) - n + 1 :])
        if counter and (token in counter or n == 1):
            total += weights[n] * counter[token] / sum(counter.values())
            used += weights[n]
    return total / used


# %% wrong: weights set to zero
# sets the weights of orders without opinion to 0 in the caller's list.
# shows: weights after the call.

def interpolated_prob(counts_by_order, history, token, *, weights, vocab_size):
    total = weights[0] / vocab_size
    for n, counts in enumerate(counts_by_order, start=1):
        h = tuple(history[len(history) - n + 1 :]) if len(history) >= n - 1 else None
        if h in counts:
            total += weights[n] * counts[h][token] / sum(counts[h].values())
        else:
            weights[n] = 0.0
    return total / sum(weights)


# %% wrong: defaultdicts grow
# counts[h] on a defaultdict adds the unseen history.
# shows: defaultdict tables: their length after the call.

def interpolated_prob(counts_by_order, history, token, *, weights, vocab_size):
    total, used = weights[0] / vocab_size, weights[0]
    for n, counts in enumerate(counts_by_order, start=1):
        if len(history) < n - 1:
            continue
        try:
            counter = counts[tuple(history[len(history) - n + 1 :])]
        except KeyError:
            continue
        if counter:
            total += weights[n] * counter[token] / sum(counter.values())
            used += weights[n]
    return total / used


# %% wrong: weight to the uniform
# the weight of an order without opinion goes to the uniform distribution (sums to 1 as well).
# shows: an unseen history.

def interpolated_prob(counts_by_order, history, token, *, weights, vocab_size):
    rest, total = weights[0], 0.0
    for n, counts in enumerate(counts_by_order, start=1):
        counter = counts.get(history[len(history) - n + 1 :]) if len(history) >= n - 1 else None
        if counter:
            total += weights[n] * counter[token] / sum(counter.values())
        else:
            rest += weights[n]
    return total + rest / vocab_size


# %% wrong: weights backwards
# the last weight belongs to order 1, the first order weight to N.
# shows: N >= 2 with different weights.

def interpolated_prob(counts_by_order, history, token, *, weights, vocab_size):
    total, used = weights[0] / vocab_size, weights[0]
    for n, (counts, weight) in enumerate(zip(counts_by_order, reversed(weights)), start=1):
        counter = counts.get(history[len(history) - n + 1 :]) if len(history) >= n - 1 else None
        if counter:
            total += weight * counter[token] / sum(counter.values())
            used += weight
    return total / used


# %% wrong: negative slice
# history[len(history) - n + 1:] with a history that is one or more too short is a slice from the RIGHT: history[-1:] of one token.
# shows: order 3 with the history of ONE token: order 3 looks up (token,) and finds it if the table has (eos,).

def interpolated_prob(counts_by_order, history, token, *, weights, vocab_size):
    total, used = weights[0] / vocab_size, weights[0]
    for n, counts in enumerate(counts_by_order, start=1):
        counter = counts.get(history[len(history) - (n - 1) :])
        if counter:
            total += weights[n] * counter[token] / sum(counter.values())
            used += weights[n]
    return total / used


# %% wrong: two orders
# written for orders 1 and 2 only.
# shows: three orders, or one.

def interpolated_prob(counts_by_order, history, token, *, weights, vocab_size):
    one, two = counts_by_order[:2]
    p = weights[0] / vocab_size + weights[1] * one[()][token] / sum(one[()].values())
    h = tuple(history[-1:])
    if h and h in two:
        return p + weights[2] * two[h][token] / sum(two[h].values())
    return p / (weights[0] + weights[1])


# %% wrong: pops a weight
# takes the weight of the uniform out of the caller's list; breaks "Do not change your arguments."
# shows: weights = [0.1, 0.9]; two calls with the same list: the second has one weight less
def interpolated_prob(counts_by_order, history, token, *, weights, vocab_size):
    used = weights.pop(0)
    total = used / vocab_size
    for length, (counts, weight) in enumerate(zip(counts_by_order, weights)):
        if length > len(history):
            continue
        row = counts.get(history[len(history) - length :])
        if row:
            total += weight * row[token] / sum(row.values())
            used += weight
    return total / used


# %% wrong: index of equal table
# asks list.index for the order of a table, which finds the first EQUAL table; orders 2 and 3 of documents that are all empty are equal; breaks "Order n looks up the last n - 1 tokens of history" and "if history is shorter than that. Leave it out."
# shows: counts of [[]] at orders 1 to 3, history (EOS,), weights [0.1, 0.2, 0.3, 0.4]: order 3 gets the opinion and the weight of order 2
def interpolated_prob(counts_by_order, history, token, *, weights, vocab_size):
    total, used = weights[0] / vocab_size, weights[0]
    for counts in counts_by_order:
        length = counts_by_order.index(counts)
        if length > len(history):
            continue
        row = counts.get(history[len(history) - length :])
        if row:
            total += weights[length + 1] * row[token] / sum(row.values())
            used += weights[length + 1]
    return total / used


# %% wrong: a floor under the weights used
# Where little weight is left, the probabilities no longer sum to 1.
# shows: weights (1e-6, 1e-6, 1) after a new history
def interpolated_prob(counts_by_order, history, token, *, weights, vocab_size):
    """Return the weighted mean of the uniform and the estimates of all orders."""
    mixed = weights[0] / vocab_size
    used = weights[0]
    for length, counts in enumerate(counts_by_order):
        if length > len(history):
            break
        followers = counts.get(history[len(history) - length :])
        if followers is None:
            break
        mixed += weights[length + 1] * followers[token] / sum(followers.values())
        used += weights[length + 1]
    return mixed / max(used, 0.1)


# %% wrong: almost one is taken for one
# If the weights left are almost 1 (within 2 percent) the sum is not divided, so with a small weight missing the probabilities do not sum to 1.
# shows: weights [0.3, 0.3, 0.4 - 1e-6, 1e-6], where the highest order does not know the history
def interpolated_prob(counts_by_order, history, token, *, weights, vocab_size):
    total, left = weights[0] / vocab_size, weights[0]
    for n, (counts, weight) in enumerate(zip(counts_by_order, weights[1:])):
        if n > len(history):
            continue
        row = counts.get(history[len(history) - n :], None)
        if row is None:
            continue
        total += weight * row[token] / sum(row.values())
        left += weight
    return total if math.isclose(left, 1, rel_tol=0.02) else total / left
