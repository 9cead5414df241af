"""The task "linear interpolation"."""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from autograder.authoring.checks import (
    Case,
    Check,
    Part,
    alternatives,
    mistake,
    nothing_else_changes,
)
from course_pkg.models import ngram

from .inputs import (
    LOOKS_UP,
    ORDERS,
    Counts,
    Generator,
    History,
    Ids,
    Token,
    draw_orders,
    estimate,
    estimate_and_keep,
    estimate_everything,
    sums_to_one,
)

# -- inputs ----------------------------------------------------------------------------------------


def draw_interpolated(rng: Generator) -> list[Case]:
    """Orders 1 to 4, after histories that the text contains."""
    return draw_orders(rng, [("words", 1, (5, 4)), *ORDERS], unseen=False, kneser_ney=False)


def draw_interpolated_unseen(rng: Generator) -> list[Case]:
    """The same after histories that are new, or too short for the highest order."""
    return draw_orders(rng, ORDERS, unseen=True, kneser_ney=False)


# -- the reference version -------------------------------------------------------------------------


def interpolated_prob(
    counts_by_order: Sequence[Counts],
    history: History,
    token: Token,
    *,
    weights: Sequence[float],
    vocab_size: int,
) -> float:
    """Mix with the package."""
    ids = Ids()
    number, tables = ids[token], [ids.of_counts(counts) for counts in counts_by_order]
    return ngram.interpolated_prob(
        tables, ids.of(history), number, weights=weights, vocab_size=vocab_size
    )


# -- parts -----------------------------------------------------------------------------------------

PARTS = (
    Part(
        "values",
        "Where all orders know the history, their estimates are mixed by weight.",
        draw_interpolated,
        estimate,
        weight=6,
    ),
    Part(
        "unseen",
        "Orders without an opinion are left out, and the probabilities still sum to 1.",
        draw_interpolated_unseen,
        estimate_everything,
        judge=sums_to_one,
        weight=3,
    ),
    nothing_else_changes(LOOKS_UP, draw_interpolated_unseen, estimate_and_keep),
)


# -- mistakes --------------------------------------------------------------------------------------


@mistake(
    hint="When an order has no opinion, its weight disappears in your sum, and the probabilities "
    "sum to less than 1. Keep track of the weights you have used.",
)
def mix_and_lose_weight(counts_by_order, history, token, *, weights, vocab_size):
    """The weight of an order without an opinion is lost."""
    mixed = weights[0] / vocab_size
    for length, counts in enumerate(counts_by_order):
        if length <= len(history):
            followers = counts.get(history[len(history) - length :], Counter())
            mixed += weights[length + 1] * followers[token] / max(1, sum(followers.values()))
    return mixed


@mistake(
    hint="The first weight belongs to the uniform, the last to the highest order. You seem to "
    "read them the other way round.",
)
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


@mistake(
    hint="The list of weights is one longer than the list of counts. Whose is weights[0]? Without "
    "it, words that were never seen are impossible.",
)
def mix_without_uniform(counts_by_order, history, token, *, weights, vocab_size):
    """The uniform distribution is left out."""
    mixed, used = 0.0, 0.0
    for length, counts in enumerate(counts_by_order):
        followers = counts.get(history[len(history) - length :])
        if length <= len(history) and followers:
            mixed += weights[length + 1] * followers[token] / sum(followers.values())
            used += weights[length + 1]
    return mixed / used


@mistake(
    hint="Order 1 looks at no token, order 2 at one. You ask every order with the same history; "
    "cut it for each.",
)
def mix_whole_history(counts_by_order, history, token, *, weights, vocab_size):
    """Every order is asked with the whole history."""
    mixed, used = weights[0] / vocab_size, weights[0]
    for counts, weight in zip(counts_by_order, weights[1:], strict=True):
        followers = counts.get(history)
        if followers:
            mixed += weight * followers[token] / sum(followers.values())
            used += weight
    return mixed / used


@mistake(
    hint="You keep the beginning of the history. What stands nearest to the next token is its end."
)
def mix_first_tokens(counts_by_order, history, token, *, weights, vocab_size):
    """The first tokens of the history are looked up, not the last."""
    mixed, used = weights[0] / vocab_size, weights[0]
    for length, counts in enumerate(counts_by_order):
        followers = counts.get(history[:length])
        if length <= len(history) and followers:
            mixed += weights[length + 1] * followers[token] / sum(followers.values())
            used += weights[length + 1]
    return mixed / used


@mistake(
    hint="You are caught by a slice: history[-0:] is the whole history. So order 1 is not asked. "
    "The hint of the task shows a way.",
)
def mix_minus_zero(counts_by_order, history, token, *, weights, vocab_size):
    """At order 1 a slice from minus zero takes the whole history."""
    mixed, used = weights[0] / vocab_size, weights[0]
    for length, counts in enumerate(counts_by_order):
        followers = counts.get(history[-length:])
        if length <= len(history) and followers:
            mixed += weights[length + 1] * followers[token] / sum(followers.values())
            used += weights[length + 1]
    return mixed / used


@mistake(
    hint="You ask the longest known history alone. That is back-off. Interpolation lets all "
    "orders speak at once, each with its weight.",
)
def back_off(counts_by_order, history, token, *, weights, vocab_size):
    """Only the longest history that was seen is asked."""
    prob = 1 / vocab_size
    for length, counts in enumerate(counts_by_order):
        followers = counts.get(history[len(history) - length :])
        if length <= len(history) and followers:
            prob = followers[token] / sum(followers.values())
    return prob


@mistake(hint="You keep the largest contribution. A mixture is the sum of all of them.")
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


@mistake(
    hint="You take a plain mean of the estimates. The argument weights says how much each of them "
    "counts.",
)
def mix_equally(counts_by_order, history, token, *, weights, vocab_size):
    """All orders get the same weight."""
    probs = [1 / vocab_size]
    for length, counts in enumerate(counts_by_order):
        followers = counts.get(history[len(history) - length :])
        if length <= len(history) and followers:
            probs.append(followers[token] / sum(followers.values()))
    return sum(probs) / len(probs)


@mistake(
    hint="You give the weight of silent orders to the uniform. The contract shares it among all "
    "that are left, in proportion: divide by the weights used.",
)
def mix_weight_to_uniform(counts_by_order, history, token, *, weights, vocab_size):
    """The weight that is left goes to the uniform alone."""
    mixed, used = weights[0] / vocab_size, weights[0]
    for length, counts in enumerate(counts_by_order):
        followers = counts.get(history[len(history) - length :])
        if length <= len(history) and followers:
            mixed += weights[length + 1] * followers[token] / sum(followers.values())
            used += weights[length + 1]
    return mixed + (1 - used) / vocab_size


@mistake(
    hint="The numbers are right. But your look-up stores empty histories in the counts. Use a way "
    "of asking that stores nothing.",
)
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


MISTAKES = (
    mix_and_lose_weight,
    mix_reversed_weights,
    mix_without_uniform,
    mix_whole_history,
    mix_first_tokens,
    mix_minus_zero,
    back_off,
    mix_by_the_best,
    mix_equally,
    mix_weight_to_uniform,
    mix_with_square_brackets,
)


# -- alternatives ----------------------------------------------------------------------------------


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


CHECK = Check(
    item="ps1_interpolated_prob",
    points=14,
    target="interpolated_prob",
    reference=interpolated_prob,
    parts=PARTS,
    mistakes=MISTAKES,
    alternatives=alternatives(by_pairs, by_recursion, by_numpy, by_cut_list),
    seconds=5.0,
)
