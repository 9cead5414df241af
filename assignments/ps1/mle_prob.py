"""The task "from counts to probabilities"."""

from collections import Counter

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
    Counts,
    Generator,
    History,
    Ids,
    Token,
    draw_counts,
    estimate,
    estimate_and_keep,
)

# -- inputs ----------------------------------------------------------------------------------------


def draw_mle(rng: Generator) -> list[Case]:
    """Counts and histories that they contain."""
    return draw_counts(rng, unseen=False, smoothed=False)


def draw_mle_unseen(rng: Generator) -> list[Case]:
    """Counts and histories that they lack, behind a few that they contain."""
    return draw_counts(rng, unseen=True, smoothed=False)


# -- the reference version -------------------------------------------------------------------------


def mle_prob(counts: Counts, history: History, token: Token) -> float:
    """Estimate with the package."""
    ids = Ids()
    return ngram.mle_prob(ids.of_counts(counts), ids.of(history), ids[token])


# -- parts -----------------------------------------------------------------------------------------

PARTS = (
    Part(
        "values",
        "After a history that was seen, the estimate is the relative frequency.",
        draw_mle,
        estimate,
        weight=6,
    ),
    Part(
        "unseen",
        "After a history that was never seen, every token has probability 0.",
        draw_mle_unseen,
        estimate,
        weight=3,
    ),
    nothing_else_changes(LOOKS_UP, draw_mle_unseen, estimate_and_keep),
)


# -- mistakes --------------------------------------------------------------------------------------


@mistake(
    hint="You divide by all n-grams of the text. That says how probable history and token are "
    "together. Here the history is given: divide only by what followed it.",
)
def divide_by_everything(counts, history, token):
    """The joint probability is returned, not the conditional one."""
    if history not in counts:
        return 0.0
    everything = sum(n for followers in counts.values() for n in followers.values())
    return counts[history][token] / everything


@mistake(
    hint="len of a Counter is the number of different tokens in it. You need how many tokens were "
    "counted in all.",
)
def divide_by_types(counts, history, token):
    """The count is divided by the number of different followers."""
    if history not in counts:
        return 0.0
    return counts[history][token] / len(counts[history])


@mistake(
    hint="You ask how often this history stands before the token. The question is the other way "
    "round: how often the token stands after this history.",
)
def divide_by_token(counts, history, token):
    """The count is divided by how often the token occurs anywhere."""
    occurrences = sum(followers[token] for followers in counts.values())
    if history not in counts or occurrences == 0:
        return 0.0
    return counts[history][token] / occurrences


@mistake(
    hint="After a history that was never seen, the sum of the counts is 0, and nobody can divide "
    "by that. The contract says what to return.",
)
def divide_by_zero(counts, history, token):
    """A history that was never seen divides by zero."""
    followers = counts.get(history, Counter())
    return followers[token] / sum(followers.values())


@mistake(hint="Your probabilities are all 0 or 1. Look at the operator: one slash or two?")
def divide_whole_numbers(counts, history, token):
    """The division drops everything behind the point."""
    if history not in counts:
        return 0.0
    return float(counts[history][token] // sum(counts[history].values()))


@mistake(hint="You shorten the history. That is right for bigrams only. Look it up as it comes.")
def look_up_last_token(counts, history, token):
    """Only the last token of the history is looked up."""
    followers = counts.get(history[-1:])
    if followers is None:
        return 0.0
    return followers[token] / sum(followers.values())


@mistake(
    hint="To treat all tokens alike is a good idea, but it is smoothing, and comes in a later "
    "task. Maximum likelihood says 0 after a history that was never seen.",
)
def guess_when_unseen(counts, history, token):
    """A history that was never seen makes all tokens equally probable."""
    followers = counts.get(history)
    if followers is None:
        return 1 / len({w for row in counts.values() for w in row})
    return followers[token] / sum(followers.values())


@mistake(
    hint="You avoid zeros. Maximum likelihood is honest: what was never seen has probability 0. "
    "With your floor, the probabilities sum to more than 1.",
)
def never_zero(counts, history, token):
    """Tokens that were never seen get a little probability for free."""
    followers = counts.get(history)
    if followers is None:
        return 1e-10
    return max(followers[token] / sum(followers.values()), 1e-10)


@mistake(
    hint="You return how often the token came. Compare it with how often anything came after this "
    "history.",
)
def return_the_count(counts, history, token):
    """The count is returned, not its share."""
    return float(counts.get(history, Counter())[token])


@mistake(
    hint="The numbers are right. But after your function the counts contain histories that nobody "
    "has seen. Look at how you look up: does it store something?",
)
def add_the_history(counts, history, token):
    """Looking up a history adds it to the counts."""
    followers = counts.setdefault(history, Counter())
    total = sum(followers.values())
    return followers[token] / total if total else 0.0


MISTAKES = (
    divide_by_everything,
    divide_by_types,
    divide_by_token,
    divide_by_zero,
    divide_whole_numbers,
    look_up_last_token,
    guess_when_unseen,
    never_zero,
    return_the_count,
    add_the_history,
)


# -- alternatives ----------------------------------------------------------------------------------


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


CHECK = Check(
    item="ps1_mle_prob",
    points=6,
    target="mle_prob",
    reference=mle_prob,
    parts=PARTS,
    mistakes=MISTAKES,
    alternatives=alternatives(by_membership, by_exception, by_distribution, by_numpy, by_fraction),
    seconds=5.0,
)
