"""Answers to the task "from counts to probabilities"."""

from collections import Counter

import numpy as np

from assignments.answers import alternatives, mistakes


def divide_by_everything(counts, history, token):
    """The joint probability is returned, not the conditional one."""
    if history not in counts:
        return 0.0
    everything = sum(n for followers in counts.values() for n in followers.values())
    return counts[history][token] / everything


def divide_by_types(counts, history, token):
    """The count is divided by the number of different followers."""
    if history not in counts:
        return 0.0
    return counts[history][token] / len(counts[history])


def divide_by_token(counts, history, token):
    """The count is divided by how often the token occurs anywhere."""
    occurrences = sum(followers[token] for followers in counts.values())
    if history not in counts or occurrences == 0:
        return 0.0
    return counts[history][token] / occurrences


def divide_by_zero(counts, history, token):
    """A history that was never seen divides by zero."""
    followers = counts.get(history, Counter())
    return followers[token] / sum(followers.values())


def divide_whole_numbers(counts, history, token):
    """The division drops everything behind the point."""
    if history not in counts:
        return 0.0
    return float(counts[history][token] // sum(counts[history].values()))


def look_up_last_token(counts, history, token):
    """Only the last token of the history is looked up."""
    followers = counts.get(history[-1:])
    if followers is None:
        return 0.0
    return followers[token] / sum(followers.values())


def guess_when_unseen(counts, history, token):
    """A history that was never seen makes all tokens equally probable."""
    followers = counts.get(history)
    if followers is None:
        return 1 / len({w for row in counts.values() for w in row})
    return followers[token] / sum(followers.values())


def never_zero(counts, history, token):
    """Tokens that were never seen get a little probability for free."""
    followers = counts.get(history)
    if followers is None:
        return 1e-10
    return max(followers[token] / sum(followers.values()), 1e-10)


def return_the_count(counts, history, token):
    """The count is returned, not its share."""
    return float(counts.get(history, Counter())[token])


def add_the_history(counts, history, token):
    """Looking up a history adds it to the counts."""
    followers = counts.setdefault(history, Counter())
    total = sum(followers.values())
    return followers[token] / total if total else 0.0


def by_membership(counts, history, token):
    """Asks whether the history is there."""
    return counts[history][token] / counts[history].total() if history in counts else 0.0


def by_exception(counts, history, token):
    """Catches the division by zero."""
    followers = counts.get(history, {})
    try:
        return followers.get(token, 0) / sum(followers.values())
    except ZeroDivisionError:
        return 0.0


def by_distribution(counts, history, token):
    """Makes the whole distribution first."""
    followers = counts.get(history, {})
    total = sum(followers.values())
    distribution = {word: n / total for word, n in followers.items()}
    return distribution.get(token, 0.0)


def by_numpy(counts, history, token):
    """Sums with NumPy."""
    if history not in counts:
        return 0.0
    words = list(counts[history])
    numbers = np.array([counts[history][word] for word in words], dtype=float)
    hits = np.array([word == token for word in words])
    return (numbers[hits].sum() / numbers.sum()).item()


def by_fraction(counts, history, token):
    """Returns an exact fraction."""
    from fractions import Fraction

    followers = counts.get(history, Counter())
    return Fraction(followers[token], max(1, sum(followers.values())))


MISTAKES = mistakes(
    (
        divide_by_everything,
        "You divide by all n-grams of the text. That says how probable history and token are "
        "together. Here the history is given: divide only by what followed it.",
    ),
    (
        divide_by_types,
        "len of a Counter is the number of different tokens in it. You need how many tokens were "
        "counted in all.",
    ),
    (
        divide_by_token,
        "You ask how often this history stands before the token. The question is the other way "
        "round: how often the token stands after this history.",
    ),
    (
        divide_by_zero,
        "After a history that was never seen, the sum of the counts is 0, and nobody can divide "
        "by that. The contract says what to return.",
    ),
    (
        divide_whole_numbers,
        "Your probabilities are all 0 or 1. Look at the operator: one slash or two?",
    ),
    (
        look_up_last_token,
        "You shorten the history. That is right for bigrams only. Look it up as it comes.",
    ),
    (
        guess_when_unseen,
        "To treat all tokens alike is a good idea, but it is smoothing, and comes in a later "
        "task. Maximum likelihood says 0 after a history that was never seen.",
    ),
    (
        never_zero,
        "You avoid zeros. Maximum likelihood is honest: what was never seen has probability 0. "
        "With your floor, the probabilities sum to more than 1.",
    ),
    (
        return_the_count,
        "You return how often the token came. Compare it with how often anything came after this "
        "history.",
    ),
    (
        add_the_history,
        "The numbers are right. But after your function the counts contain histories that nobody "
        "has seen. Look at how you look up: does it store something?",
    ),
)

ALTERNATIVES = alternatives(by_membership, by_exception, by_distribution, by_numpy, by_fraction)
