"""Answers to the task "linear interpolation"."""

from collections import Counter

import numpy as np

from assignments.answers import alternatives, mistakes


def mix_and_lose_weight(counts_by_order, history, token, *, weights, vocab_size):
    """The weight of an order without an opinion is lost."""
    mixed = weights[0] / vocab_size
    for length, counts in enumerate(counts_by_order):
        if length <= len(history):
            followers = counts.get(history[len(history) - length :], Counter())
            mixed += weights[length + 1] * followers[token] / max(1, sum(followers.values()))
    return mixed


def mix_reversed_weights(counts_by_order, history, token, *, weights, vocab_size):
    """The weights are taken from the wrong end."""
    weights = weights[::-1]
    mixed, used = weights[0] / vocab_size, weights[0]
    for length, counts in enumerate(counts_by_order):
        followers = counts.get(history[len(history) - length :])
        if length <= len(history) and followers:
            mixed += weights[length + 1] * followers[token] / sum(followers.values())
            used += weights[length + 1]
    return mixed / used


def mix_without_uniform(counts_by_order, history, token, *, weights, vocab_size):
    """The uniform distribution is left out."""
    mixed, used = 0.0, 0.0
    for length, counts in enumerate(counts_by_order):
        followers = counts.get(history[len(history) - length :])
        if length <= len(history) and followers:
            mixed += weights[length + 1] * followers[token] / sum(followers.values())
            used += weights[length + 1]
    return mixed / used


def mix_whole_history(counts_by_order, history, token, *, weights, vocab_size):
    """Every order is asked with the whole history."""
    mixed, used = weights[0] / vocab_size, weights[0]
    for counts, weight in zip(counts_by_order, weights[1:], strict=True):
        followers = counts.get(history)
        if followers:
            mixed += weight * followers[token] / sum(followers.values())
            used += weight
    return mixed / used


def mix_first_tokens(counts_by_order, history, token, *, weights, vocab_size):
    """The first tokens of the history are looked up, not the last."""
    mixed, used = weights[0] / vocab_size, weights[0]
    for length, counts in enumerate(counts_by_order):
        followers = counts.get(history[:length])
        if length <= len(history) and followers:
            mixed += weights[length + 1] * followers[token] / sum(followers.values())
            used += weights[length + 1]
    return mixed / used


def mix_minus_zero(counts_by_order, history, token, *, weights, vocab_size):
    """At order 1 a slice from minus zero takes the whole history."""
    mixed, used = weights[0] / vocab_size, weights[0]
    for length, counts in enumerate(counts_by_order):
        followers = counts.get(history[-length:])
        if length <= len(history) and followers:
            mixed += weights[length + 1] * followers[token] / sum(followers.values())
            used += weights[length + 1]
    return mixed / used


def back_off(counts_by_order, history, token, *, weights, vocab_size):
    """Only the longest history that was seen is asked."""
    prob = 1 / vocab_size
    for length, counts in enumerate(counts_by_order):
        followers = counts.get(history[len(history) - length :])
        if length <= len(history) and followers:
            prob = followers[token] / sum(followers.values())
    return prob


def mix_by_the_best(counts_by_order, history, token, *, weights, vocab_size):
    """The largest contribution is taken instead of their sum."""
    shares = [weights[0] / vocab_size]
    used = weights[0]
    for length, counts in enumerate(counts_by_order):
        followers = counts.get(history[len(history) - length :])
        if length <= len(history) and followers:
            shares.append(weights[length + 1] * followers[token] / sum(followers.values()))
            used += weights[length + 1]
    return max(shares) / used


def mix_equally(counts_by_order, history, token, *, weights, vocab_size):
    """All orders get the same weight."""
    probs = [1 / vocab_size]
    for length, counts in enumerate(counts_by_order):
        followers = counts.get(history[len(history) - length :])
        if length <= len(history) and followers:
            probs.append(followers[token] / sum(followers.values()))
    return sum(probs) / len(probs)


def mix_weight_to_uniform(counts_by_order, history, token, *, weights, vocab_size):
    """The weight that is left goes to the uniform alone."""
    mixed, used = weights[0] / vocab_size, weights[0]
    for length, counts in enumerate(counts_by_order):
        followers = counts.get(history[len(history) - length :])
        if length <= len(history) and followers:
            mixed += weights[length + 1] * followers[token] / sum(followers.values())
            used += weights[length + 1]
    return mixed + (1 - used) / vocab_size


def mix_with_square_brackets(counts_by_order, history, token, *, weights, vocab_size):
    """Looking up adds histories to the counts."""
    mixed, used = weights[0] / vocab_size, weights[0]
    for length, counts in enumerate(counts_by_order):
        if length <= len(history):
            followers = counts.setdefault(history[len(history) - length :], Counter())
            if followers:
                mixed += weights[length + 1] * followers[token] / sum(followers.values())
                used += weights[length + 1]
    return mixed / used


def by_pairs(counts_by_order, history, token, *, weights, vocab_size):
    """Collects pairs of weight and estimate, then averages."""
    pairs = [(weights[0], 1 / vocab_size)]
    for order, (counts, weight) in enumerate(zip(counts_by_order, weights[1:], strict=True), 1):
        if len(history) >= order - 1:
            followers = counts.get(tuple(history[len(history) - order + 1 :]), {})
            if followers:
                pairs.append((weight, followers.get(token, 0) / sum(followers.values())))
    return sum(w * p for w, p in pairs) / sum(w for w, _ in pairs)


def by_recursion(counts_by_order, history, token, *, weights, vocab_size):
    """Drops the highest order and calls itself, from long histories to short ones."""

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


def by_numpy(counts_by_order, history, token, *, weights, vocab_size):
    """Marks the orders that have an opinion, then takes a dot product."""
    probs, known = [1 / vocab_size], [True]
    for length, counts in enumerate(counts_by_order):
        start = len(history) - length
        followers = counts.get(history[start:]) if start >= 0 else None
        known.append(bool(followers))
        probs.append(followers[token] / followers.total() if followers else 0.0)
    chosen = np.array(weights) * np.array(known)
    return chosen @ np.array(probs) / chosen.sum()


def by_cut_list(counts_by_order, history, token, *, weights, vocab_size):
    """Finds the highest order that is known, then sums over a comprehension."""
    suffixes = [history[len(history) - n :] for n in range(min(len(history) + 1, len(weights) - 1))]
    rows = [counts.get(s) for s, counts in zip(suffixes, counts_by_order, strict=False)]
    rows = [row for row in rows if row is not None]
    used = weights[: len(rows) + 1]
    estimates = [1 / vocab_size, *(row[token] / sum(row.values()) for row in rows)]
    return sum(w * p for w, p in zip(used, estimates, strict=True)) / sum(used)


MISTAKES = mistakes(
    (
        mix_and_lose_weight,
        "When an order has no opinion, its weight disappears in your sum, and the probabilities "
        "sum to less than 1. Keep track of the weights you have used.",
    ),
    (
        mix_reversed_weights,
        "The first weight belongs to the uniform, the last to the highest order. You seem to read "
        "them the other way round.",
    ),
    (
        mix_without_uniform,
        "The list of weights is one longer than the list of counts. Whose is weights[0]? Without "
        "it, words that were never seen are impossible.",
    ),
    (
        mix_whole_history,
        "Order 1 looks at no token, order 2 at one. You ask every order with the same history; "
        "cut it for each.",
    ),
    (
        mix_first_tokens,
        "You keep the beginning of the history. What stands nearest to the next token is its end.",
    ),
    (
        mix_minus_zero,
        "You are caught by a slice: history[-0:] is the whole history. So order 1 is not asked. "
        "The hint of the task shows a way.",
    ),
    (
        back_off,
        "You ask the longest known history alone. That is back-off. Interpolation lets all orders "
        "speak at once, each with its weight.",
    ),
    (
        mix_by_the_best,
        "You keep the largest contribution. A mixture is the sum of all of them.",
    ),
    (
        mix_equally,
        "You take a plain mean of the estimates. The argument weights says how much each of them "
        "counts.",
    ),
    (
        mix_weight_to_uniform,
        "You give the weight of silent orders to the uniform. The contract shares it among all "
        "that are left, in proportion: divide by the weights used.",
    ),
    (
        mix_with_square_brackets,
        "The numbers are right. But your look-up stores empty histories in the counts. Use a way "
        "of asking that stores nothing.",
    ),
)

ALTERNATIVES = alternatives(by_pairs, by_recursion, by_numpy, by_cut_list)
