"""Answers to the task "draw a token"."""

import random

import numpy as np

from assignments.answers import alternatives, mistakes


def sample_the_best(probs, u):
    """The most probable token is taken every time."""
    return max(probs, key=probs.get)


def sample_right_end(probs, u):
    """A piece owns its right end instead of its left."""
    total = 0.0
    for token, prob in probs.items():
        total += prob
        if total >= u:
            return token
    return [token for token in probs if probs[token] > 0][-1]


def sample_without_sum(probs, u):
    """Each probability is compared with u by itself."""
    for token, prob in probs.items():
        if u < prob:
            return token
    return [token for token in probs if probs[token] > 0][-1]


def sample_uniformly(probs, u):
    """All tokens get pieces of the same length."""
    tokens = [token for token in probs if probs[token] > 0]
    return tokens[int(u * len(tokens))]


def sample_sorted(probs, u):
    """The pieces are sorted by length."""
    tokens = sorted((token for token in probs if probs[token] > 0), key=lambda token: -probs[token])
    total = 0.0
    for token in tokens:
        total += probs[token]
        if total > u:
            return token
    return tokens[-1]


def sample_place(probs, u):
    """The number of the token is returned instead of the token."""
    total = 0.0
    for place, prob in enumerate(probs.values()):
        total += prob
        if total > u:
            return place
    return len(probs) - 1


def sample_beyond(probs, u):
    """Nothing is returned where rounding leaves the sum below u."""
    total = 0.0
    for token, prob in probs.items():
        total += prob
        if total > u:
            return token


def sample_last_of_all(probs, u):
    """Beyond the sum the last token is returned, even if its probability is 0."""
    total = 0.0
    for token, prob in probs.items():
        total += prob
        if total > u:
            return token
    return token


def sample_own_chance(probs, u):
    """The place u is ignored and the random generator asked."""
    return random.choices(list(probs), weights=list(probs.values()))[0]


def sample_from_the_right(probs, u):
    """The line is walked from its right end."""
    total = 0.0
    for token in reversed(probs):
        total += probs[token]
        if total > u:
            return token
    return next(token for token in probs if probs[token] > 0)


def by_search(probs, u):
    """Searches the cumulative sums with NumPy."""
    tokens = list(probs)
    ends = np.cumsum(list(probs.values()))
    place = int(np.searchsorted(ends, u, side="right"))
    last = max(i for i, token in enumerate(tokens) if probs[token] > 0)
    return tokens[min(place, last)]


def by_bisection(probs, u):
    """Bisects the sums of the possible tokens."""
    from bisect import bisect_right
    from itertools import accumulate

    possible = {token: prob for token, prob in probs.items() if prob > 0}
    ends = list(accumulate(possible.values()))
    ends[-1] = 1.0
    return list(possible)[bisect_right(ends, u)]


def by_subtraction(probs, u):
    """Subtracts each piece from u."""
    owner = None
    for token in probs:
        if probs[token] > 0:
            owner = token
            u -= probs[token]
            if u < 0:
                return token
    return owner


def by_next(probs, u):
    """Takes the first of a generator, with a default."""
    possible = [token for token in probs if probs[token] > 0]
    ends = np.cumsum([probs[token] for token in possible])
    return next((t for t, end in zip(possible, ends, strict=True) if end > u), possible[-1])


def by_recursion(probs, u):
    """Takes the first piece away and calls itself with the rest."""
    (token, prob), *others = ((t, p) for t, p in probs.items() if p > 0)
    if u < prob or not others:
        return token
    return by_recursion(dict(others), u - prob)


MISTAKES = mistakes(
    (
        sample_the_best,
        "You always take the most probable token. That is greedy choice, not drawing: u has "
        "no influence. Each token must own a piece of the line.",
    ),
    (
        sample_right_end,
        "Look at your comparison where u falls exactly on the border of two pieces. There the "
        "next token must win. With u = 0, a token of probability 0 must not.",
    ),
    (
        sample_without_sum,
        "You compare u with each probability alone. But a piece begins where the one before "
        "it ended. What do you have to keep while you walk along the line?",
    ),
    (
        sample_uniformly,
        "Your pieces all have the same length. A token's piece should be as long as its "
        "probability.",
    ),
    (
        sample_sorted,
        "You sort the tokens first. The contract asks for the order of the dictionary; so the "
        "same u must lead to the same token for everyone.",
    ),
    (
        sample_place,
        "You find the right piece, but return its number. The caller wants its owner, the token.",
    ),
    (
        sample_beyond,
        "Add ten times 0.1 on a computer: it is not quite 1. If u lies beyond the sum, your "
        "loop ends without a return. Look at what happens after it.",
    ),
    (
        sample_last_of_all,
        "After the loop you return the last token. That may be one of probability 0, which "
        "must never be drawn. Remember the last token that owned anything.",
    ),
    (
        sample_own_chance,
        "The chance is already in u. If the function asks a random generator as well, nobody "
        "can repeat what it did. Use u instead.",
    ),
    (
        sample_from_the_right,
        "You lay the pieces on the line from the other end. The first token of the dictionary "
        "begins at 0.",
    ),
)

ALTERNATIVES = alternatives(by_search, by_bisection, by_subtraction, by_next, by_recursion)
