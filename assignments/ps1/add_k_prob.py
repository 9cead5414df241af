"""The task "add-k smoothing"."""

from collections import Counter

from autograder.authoring.checks import Case, Check, Part, mistake, mistakes, nothing_else_changes
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
    same,
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
        judge=same,
        weight=6,
    ),
    Part(
        "unseen",
        "After every history, seen or not, the probabilities of all tokens sum to 1.",
        draw_add_k_unseen,
        estimate,
        judge=sums_to_one,
        weight=3,
    ),
    nothing_else_changes(
        LOOKS_UP,
        draw_add_k_unseen,
        estimate_and_keep,
        says=("the call changes the counts", "the call changes its settings"),
    ),
)


# -- mistakes --------------------------------------------------------------------------------------


def right_answer(counts, history, token, *, k, vocab_size):
    """The answer that the mistakes start from."""
    followers = counts.get(history, Counter())
    return (followers[token] + k) / (sum(followers.values()) + k * vocab_size)


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


MISTAKES = mistakes(
    right_answer,
    mistake(
        "Only the tokens seen after this history are counted below the line.",
        replace={
            "followers = counts.get(history, Counter())": """
                followers = counts.get(history)
                if not followers:
                    return 1 / vocab_size
            """,
            "k * vocab_size)": "k * len(followers))",
        },
        hint="Below the line you add k for each token seen after this history. But every "
        "token of the vocabulary gets k: add k times V.",
    ),
    mistake(
        "The denominator gets V instead of k times V.",
        replace={"k * vocab_size": "vocab_size"},
        hint="With k = 1 you are right. With another k the probabilities no longer sum to 1. If V "
        "tokens get k each, how much is that in all?",
        keeps=0.5,
    ),
    mistake(
        "The denominator gets k instead of k times V.",
        replace={"k * vocab_size": "k"},
        hint="One token gets k above the line. But all V tokens get it, and the total must grow "
        "by all of them.",
        keeps=0.5,
    ),
    mistake(
        "One is added, whatever k is.",
        replace={"followers[token] + k": "followers[token] + 1", "k * vocab_size)": "vocab_size)"},
        hint="You add 1, as Laplace did. The contract has an argument k, and it may be a fraction.",
        keeps=0.5,
    ),
    mistake(
        "A history that was never seen gives everything probability 0.",
        replace={
            "followers = counts.get(history, Counter())": """
                if history not in counts:
                    return 0.0
                followers = counts[history]
            """,
        },
        hint="After a history that was never seen, your probabilities are all 0 and sum to 0. Put "
        "counts of 0 into the formula: what comes out?",
    ),
    mistake(
        "The number of histories stands in the place of V.",
        replace={"k * vocab_size": "k * len(counts)"},
        hint="len(counts) is the number of histories. V is the number of different tokens that "
        "may come next, and is given to you.",
    ),
    mistake(
        "Only tokens that were never seen get k.",
        replace={"followers[token] + k": "followers[token] or k"},
        hint="Tokens that were seen get k more as well. Otherwise the probabilities do not sum to "
        "1.",
    ),
    mistake(
        "The k is added below the line, but not above it.",
        replace={"(followers[token] + k)": "followers[token]"},
        hint="You add k below the line, but to no count above it. Look at the numerator.",
        keeps=0.3,
    ),
    add_in_place,
    mistake(
        "The sum runs over all histories.",
        replace={
            "sum(followers.values())": "sum(n for row in counts.values() for n in row.values())",
        },
        hint="You divide by the n-grams of the whole text. Only those with this history matter.",
    ),
)

CHECK = Check(
    item="ps1_add_k_prob",
    points=8,
    target="add_k_prob",
    reference=add_k_prob,
    parts=PARTS,
    mistakes=MISTAKES,
    seconds=5.0,
)
