"""The task "add-k smoothing"."""

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
    estimate_everything,
    sums_to_one,
)

# -- inputs ----------------------------------------------------------------------------------------


def draw_add_k(rng: Generator) -> list[Case]:
    """The same with k and the size of the vocabulary."""
    return draw_counts(rng, unseen=False, smoothed=True)


def draw_add_k_unseen(rng: Generator) -> list[Case]:
    """The same for histories never seen."""
    return draw_counts(rng, unseen=True, smoothed=True)


# -- the reference version -------------------------------------------------------------------------


def add_k_prob(
    counts: Counts, history: History, token: Token, *, k: float, vocab_size: int
) -> float:
    """Smooth with the package."""
    ids = Ids()
    number, table = ids[token], ids.of_counts(counts)
    return ngram.add_k_prob(table, ids.of(history), number, k=k, vocab_size=vocab_size)


# -- parts -----------------------------------------------------------------------------------------

PARTS = (
    Part(
        "values",
        "After a history that was seen, k is added to every count.",
        draw_add_k,
        estimate,
        weight=6,
    ),
    Part(
        "unseen",
        "After every history, seen or not, the probabilities of all tokens sum to 1.",
        draw_add_k_unseen,
        estimate_everything,
        judge=sums_to_one,
        weight=3,
    ),
    nothing_else_changes(LOOKS_UP, draw_add_k_unseen, estimate_and_keep),
)


# -- mistakes --------------------------------------------------------------------------------------


@mistake(
    hint="You make room below the line for the tokens seen after this history. But every token of "
    "the vocabulary gets k, so V of them need room.",
)
def add_for_seen_types(counts, history, token, *, k, vocab_size):
    """Room is made only for the tokens seen after this history."""
    followers = counts.get(history, Counter())
    if not followers:
        return 1 / vocab_size
    return (followers[token] + k) / (sum(followers.values()) + k * len(followers))


@mistake(
    hint="With k = 1 you are right. With another k the probabilities no longer sum to 1. If V "
    "tokens get k each, how much is that in all?",
)
def add_without_k_below(counts, history, token, *, k, vocab_size):
    """The denominator gets V instead of k times V."""
    followers = counts.get(history, Counter())
    return (followers[token] + k) / (sum(followers.values()) + vocab_size)


@mistake(
    hint="One token gets k above the line. But all V tokens get it, and the total must grow by "
    "all of them.",
)
def add_without_v_below(counts, history, token, *, k, vocab_size):
    """The denominator gets k instead of k times V."""
    followers = counts.get(history, Counter())
    return (followers[token] + k) / (sum(followers.values()) + k)


@mistake(
    hint="You add 1, as Laplace did. The contract has an argument k, and it may be a fraction."
)
def add_always_one(counts, history, token, *, k, vocab_size):
    """One is added, whatever k is."""
    followers = counts.get(history, Counter())
    return (followers[token] + 1) / (sum(followers.values()) + vocab_size)


@mistake(
    hint="After a history that was never seen, your probabilities are all 0 and sum to 0. Put "
    "counts of 0 into the formula: what comes out?",
)
def add_to_seen_histories_only(counts, history, token, *, k, vocab_size):
    """A history that was never seen gives everything probability 0."""
    if history not in counts:
        return 0.0
    followers = counts[history]
    return (followers[token] + k) / (sum(followers.values()) + k * vocab_size)


@mistake(
    hint="len(counts) is the number of histories. V is the number of different tokens that may "
    "come next, and is given to you.",
)
def add_for_histories(counts, history, token, *, k, vocab_size):
    """V is taken for the number of histories."""
    followers = counts.get(history, Counter())
    return (followers[token] + k) / (sum(followers.values()) + k * len(counts))


@mistake(
    hint="Tokens that were seen get k more as well. Otherwise the probabilities do not sum to 1."
)
def add_to_unseen_only(counts, history, token, *, k, vocab_size):
    """Only tokens that were never seen get k."""
    followers = counts.get(history, Counter())
    return (followers[token] or k) / (sum(followers.values()) + k * vocab_size)


@mistake(hint="You make room below the line, but give it to nobody. Look at the numerator.")
def add_below_only(counts, history, token, *, k, vocab_size):
    """The k is added below the line, but not above it."""
    followers = counts.get(history, Counter())
    return followers[token] / (sum(followers.values()) + k * vocab_size)


@mistake(
    hint="The numbers are right. But your function leaves traces in the counts: new histories or "
    "tokens. Compute with the counts, do not store in them.",
)
def add_in_place(counts, history, token, *, k, vocab_size):
    """The added k is stored in the counts."""
    followers = counts.setdefault(history, Counter())
    total = sum(followers.values()) + k * vocab_size
    followers[token] += k
    prob = followers[token] / total
    followers[token] -= k
    return prob


@mistake(hint="You divide by the n-grams of the whole text. Only those with this history matter.")
def add_to_everything(counts, history, token, *, k, vocab_size):
    """The sum runs over all histories."""
    everything = sum(n for row in counts.values() for n in row.values())
    return (counts.get(history, Counter())[token] + k) / (everything + k * vocab_size)


MISTAKES = (
    add_for_seen_types,
    add_without_k_below,
    add_without_v_below,
    add_always_one,
    add_to_seen_histories_only,
    add_for_histories,
    add_to_unseen_only,
    add_below_only,
    add_in_place,
    add_to_everything,
)


# -- alternatives ----------------------------------------------------------------------------------


def by_exception(counts, history, token, *, k, vocab_size):
    """Catches the missing history."""
    try:
        followers = dict(counts).__getitem__(history)
    except KeyError:
        return 1 / vocab_size
    return (followers.get(token, 0) + k) / (sum(followers.values()) + k * vocab_size)


def by_mixture(counts, history, token, *, k, vocab_size):
    """Mixes the relative frequency with the uniform."""
    followers = counts.get(history, Counter())
    total = sum(followers.values())
    if total == 0:
        return 1 / vocab_size
    share = total / (total + k * vocab_size)
    return share * followers[token] / total + (1 - share) / vocab_size


def by_numpy(counts, history, token, *, k, vocab_size):
    """Fills an array with all counts, seen or not."""
    followers = counts.get(history, Counter())
    unseen = [0] * (vocab_size - len(followers))
    smoothed = np.array([*followers.values(), *unseen], dtype=float) + k
    smoothed /= smoothed.sum()
    if token in followers:
        return smoothed[list(followers).index(token)]
    return smoothed[-1]


def by_loop(counts, history, token, *, k, vocab_size):
    """Adds up in a loop."""
    above, below = k, vocab_size * k
    if history in counts:
        for word, n in counts[history].items():
            below += n
            if word == token:
                above += n
    return above / below


CHECK = Check(
    item="ps1_add_k_prob",
    points=8,
    target="add_k_prob",
    reference=add_k_prob,
    parts=PARTS,
    mistakes=MISTAKES,
    alternatives=alternatives(by_exception, by_mixture, by_numpy, by_loop),
    seconds=5.0,
)
