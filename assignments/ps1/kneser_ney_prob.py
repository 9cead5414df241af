"""The task "Kneser–Ney"."""

from collections import Counter
from collections.abc import Sequence

from autograder.authoring.checks import Case, Check, Part, mistake, mistakes, nothing_else_changes
from course_pkg.models import ngram

from .inputs import (
    LONG,
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
    same,
    sums_to_one,
)

# -- inputs ----------------------------------------------------------------------------------------


def draw_kneser_ney_bigrams(rng: Generator) -> list[Case]:
    """Orders 1 and 2 only."""
    sizes = [("words", 2, (7, 5)), ("numbers", 2, (13, 9, 4))]
    return draw_orders(rng, sizes, unseen=False, kneser_ney=True)


def draw_kneser_ney(rng: Generator) -> list[Case]:
    """Order 1 alone, and orders up to 5."""
    sizes = [("words", 1, (6, 5)), ("numbers", 3, (11, 6, 9)), ("pairs", 5, (13, 7)), *LONG]
    return draw_orders(rng, sizes, unseen=False, kneser_ney=True)


def draw_kneser_ney_unseen(rng: Generator) -> list[Case]:
    """Orders 2 to 4 after histories that are new, or too short for the highest order."""
    return draw_orders(rng, ORDERS, unseen=True, kneser_ney=True)


# -- the reference version -------------------------------------------------------------------------


def kneser_ney_prob(
    counts_by_order: Sequence[Counts],
    history: History,
    token: Token,
    *,
    discounts: Sequence[float],
    vocab_size: int,
) -> float:
    """Discount with the package."""
    ids = Ids()
    number, tables = ids[token], [ids.of_counts(counts) for counts in counts_by_order]
    return ngram.kneser_ney_prob(
        tables, ids.of(history), number, discounts=discounts, vocab_size=vocab_size
    )


# -- parts -----------------------------------------------------------------------------------------

PARTS = (
    Part(
        "order 2",
        "With two orders, the probabilities after histories that were seen are right.",
        draw_kneser_ney_bigrams,
        estimate,
        judge=same,
        weight=3,
    ),
    Part(
        "any order",
        "With one order or with many, the probabilities are right.",
        draw_kneser_ney,
        estimate,
        judge=same,
        weight=3,
    ),
    Part(
        "unseen",
        "After histories never seen, or too short, the probabilities still sum to 1.",
        draw_kneser_ney_unseen,
        estimate,
        judge=sums_to_one,
        weight=3,
    ),
    nothing_else_changes(
        LOOKS_UP,
        draw_kneser_ney_unseen,
        estimate_and_keep,
        says=("the call changes the counts", "the call changes the list of discounts"),
    ),
)


# -- mistakes --------------------------------------------------------------------------------------


def right_answer(counts_by_order, history, token, *, discounts, vocab_size):
    """The answer that the mistakes start from."""
    prob = 1 / vocab_size
    for length, counts in enumerate(counts_by_order):
        followers = counts.get(history[len(history) - length :])
        if length <= len(history) and followers:
            kept = max(followers[token] - discounts[length], 0)
            freed = discounts[length] * len(followers)
            prob = (kept + freed * prob) / sum(followers.values())
    return prob


@mistake(
    hint="You take the discount, but do not spend it: the probabilities sum to less than 1. The "
    "second term of the formula is missing.",
)
def discount_for_nothing(counts_by_order, history, token, *, discounts, vocab_size):
    """What the discount frees is given to nobody."""
    for length in range(min(len(history), len(counts_by_order) - 1), -1, -1):
        followers = counts_by_order[length].get(history[len(history) - length :])
        if followers:
            return max(followers[token] - discounts[length], 0) / sum(followers.values())
    return 1 / vocab_size


@mistake(
    hint="Your probabilities sum to 1, but this is additive smoothing: all unseen tokens get the "
    "same. Kneser–Ney discounts what was seen and asks the shorter history.",
)
def additive(counts_by_order, history, token, *, discounts, vocab_size):
    """This is add-k smoothing under another name."""
    length = min(len(history), len(counts_by_order) - 1)
    followers = counts_by_order[length].get(history[len(history) - length :], Counter())
    k = discounts[-1]
    return (followers[token] + k) / (sum(followers.values()) + k * vocab_size)


MISTAKES = mistakes(
    right_answer,
    mistake(
        "The discount is taken off counts of 0 as well.",
        replace={
            "max(followers[token] - discounts[length], 0)": "followers[token] - discounts[length]",
        },
        hint="A token that was never seen has nothing to give up. Your formula takes the discount "
        "off it too, and may even go below 0. Look at the max in the formula.",
        keeps=0.5,
    ),
    mistake(
        "The freed share counts all followers instead of the different ones.",
        replace={"len(followers)": "sum(followers.values())"},
        hint="The discount is taken once from each different follower. So what is freed depends "
        "on how many different ones there are, compared with all.",
        keeps=0.5,
    ),
    mistake(
        "The freed share forgets the discount.",
        replace={"discounts[length] * len(followers)": "len(followers)"},
        hint="Each of the different followers gives up D, not 1. Compare your second term with "
        "the formula.",
        keeps=0.5,
    ),
    mistake(
        "The freed share is spread evenly, not like the shorter history.",
        replace={"freed * prob": "freed / vocab_size"},
        hint="You spread what was freed evenly over the vocabulary. It should follow the shorter "
        "history, and only order 1 falls back on the uniform.",
        keeps=0.3,
    ),
    discount_for_nothing,
    mistake(
        "The shorter history is asked only for tokens that were never seen.",
        replace={"kept + freed * prob": "kept or freed * prob"},
        hint="You ask the shorter history only when the token was never seen. That is back-off. "
        "Here the second term is added for every token.",
    ),
    mistake(
        "Order 1 is not smoothed, so words never seen are impossible.",
        replace={
            "if length <= len(history) and followers:": """
                if length == 0:
                    prob = followers[token] / sum(followers.values())
                elif length <= len(history) and followers:
            """,
        },
        hint="Your order 1 is a plain relative frequency. It is discounted like the others, and "
        "what that frees goes to the uniform. Otherwise new words are impossible.",
        keeps=0.3,
    ),
    mistake(
        "The uniform is spread over the words seen, not over the vocabulary.",
        replace={"1 / vocab_size": "1 / len(counts_by_order[0][()])"},
        hint="The uniform gives each of the V tokens the same, those never seen too. Look at the "
        "number you divide by at the very bottom.",
        keeps=0.5,
    ),
    mistake(
        "After a history that was never seen, everything has probability 0.",
        replace={
            "if length <= len(history) and followers:": """
                if length <= len(history):
                    if not followers:
                        return 0.0
            """,
        },
        hint="When an order has never seen the history, it steps aside: P_n is P_{n-1} then. You "
        "return 0.",
    ),
    mistake(
        "One discount is used for all orders.",
        replace={
            "- discounts[length]": "- discounts[-1]",
            "discounts[length] *": "discounts[-1] *",
        },
        hint="There is one discount for each order, in the same order as the counts. You use the "
        "same one everywhere.",
        keeps=0.5,
    ),
    mistake(
        "The history is shortened at the wrong end.",
        replace={"history[len(history) - length :]": "history[:length]"},
        hint="The shorter history h' is h without its first token. You seem to drop the last one, "
        "which is the nearest to the target.",
        keeps=0.5,
    ),
    additive,
    mistake(
        "Looking up adds histories to the counts.",
        replace={
            "counts.get(history[len(history) - length :])": (
                "counts.setdefault(history[len(history) - length :], Counter())"
            ),
        },
        hint="The numbers are right. But your look-up stores empty histories in the counts. Use a "
        "way of asking that stores nothing.",
    ),
)

CHECK = Check(
    item="ps1_kneser_ney_prob",
    points=12,
    target="kneser_ney_prob",
    reference=kneser_ney_prob,
    parts=PARTS,
    mistakes=MISTAKES,
    seconds=5.0,
)
