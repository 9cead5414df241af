"""The task "linear interpolation"."""

from collections import Counter  # noqa: F401  (read by a replacement)
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
    ask_everything,
    count,
    draw_orders,
    estimate,
    estimate_and_keep,
    same,
    sums_to_one,
)

# -- inputs ----------------------------------------------------------------------------------------


def draw_interpolated(rng: Generator) -> list[Case]:
    """Orders 1 to 4, after histories that the text contains."""
    return draw_orders(rng, [("words", 1, (5, 4)), *ORDERS, *LONG], unseen=False, kneser_ney=False)


def draw_interpolated_unseen(rng: Generator) -> list[Case]:
    """The same after histories that are new, or too short for the highest order."""
    # The counts of orders 2 and 3 are equal, as no document has a token.
    tables = [count([[], []], order, "<eos>") for order in (1, 2, 3)]
    settings = {"weights": [0.1, 0.2, 0.3, 0.4], "vocab_size": 2}
    histories: list[History] = [("<eos>",), ("x", "<eos>"), ()]
    empty = ask_everything(tables, histories, ["<eos>", "x"], settings)
    cases = draw_orders(rng, ORDERS, unseen=True, kneser_ney=False)
    # An order that nobody counts on: what is left is divided by next to nothing.
    small = {**settings, "weights": [1e-6, 1e-6, 1e-6, 1 - 3e-6]}
    unsure = ask_everything(tables, [("x",), ("<eos>", "x")], ["<eos>", "x"], small)
    # One that hardly anybody counts on: what is left is almost 1, and not 1.
    large = {**settings, "weights": [0.3, 0.3, 0.4 - 1e-6, 1e-6]}
    left = ask_everything(tables, [("x", "<eos>")], ["<eos>", "x"], large)
    return [
        *cases,
        Case("order 3, two documents without a token", empty),
        Case("order 3, a weight next to 0", left),
        Case("order 3, weights next to 0", unsure),
    ]


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
        judge=same,
        weight=6,
    ),
    Part(
        "unseen",
        "Orders without an opinion are left out, and the probabilities still sum to 1.",
        draw_interpolated_unseen,
        estimate,
        judge=sums_to_one,
        weight=3,
    ),
    nothing_else_changes(
        LOOKS_UP,
        draw_interpolated_unseen,
        estimate_and_keep,
        says=("the call changes the counts", "the call changes the list of weights"),
    ),
)


# -- mistakes --------------------------------------------------------------------------------------


def right_answer(counts_by_order, history, token, *, weights, vocab_size):
    """The answer that the mistakes start from."""
    mixed, used = weights[0] / vocab_size, weights[0]
    for length, counts in enumerate(counts_by_order):
        followers = counts.get(history[len(history) - length :])
        if length <= len(history) and followers:
            mixed += weights[length + 1] * followers[token] / sum(followers.values())
            used += weights[length + 1]
    return mixed / used


MISTAKES = mistakes(
    right_answer,
    mistake(
        "The weight of an order without an opinion is lost.",
        replace={"return mixed / used": "return mixed"},
        hint="When an order has no opinion, its weight disappears in your sum, and the "
        "probabilities sum to less than 1. Keep track of the weights you have used.",
    ),
    mistake(
        "The weights are taken from the wrong end.",
        replace={
            "mixed, used = weights[0] / vocab_size, weights[0]": """
                weights = weights[::-1]
                mixed, used = weights[0] / vocab_size, weights[0]
            """,
        },
        hint="The first weight belongs to the uniform, the last to the highest order. You seem to "
        "read them the other way round.",
        keeps=0.5,
    ),
    mistake(
        "The uniform distribution is left out.",
        replace={"weights[0] / vocab_size, weights[0]": "0.0, 0.0"},
        hint="The list of weights is one longer than the list of counts. Whose is weights[0]? "
        "Without it, words that were never seen are impossible.",
        keeps=0.3,
    ),
    mistake(
        "Every order is asked with the whole history.",
        replace={
            "history[len(history) - length :]": "history",
            "length <= len(history) and followers": "followers",
        },
        hint="Order 1 looks at no token, order 2 at one. You ask every order with the same "
        "history; cut it for each.",
    ),
    mistake(
        "The first tokens of the history are looked up, not the last.",
        replace={"history[len(history) - length :]": "history[:length]"},
        hint="You keep the beginning of the history. What stands nearest to the next token is its "
        "end.",
    ),
    mistake(
        "At order 1 a slice from minus zero takes the whole history.",
        replace={"history[len(history) - length :]": "history[-length:]"},
        hint="You are caught by a slice: history[-0:] is the whole history. So order 1 is not "
        "asked. The hint of the task shows a way.",
        keeps=0.5,
    ),
    mistake(
        "Only the longest history that was seen is asked.",
        replace={
            "weights[0] / vocab_size, weights[0]": "1 / vocab_size, 1",
            "mixed += weights[length + 1] *": "mixed =",
            "used += weights[length + 1]": "",
        },
        hint="You ask the longest known history alone. That is back-off. Interpolation lets all "
        "orders speak at once, each with its weight.",
    ),
    mistake(
        "The largest contribution is taken instead of their sum.",
        replace={
            "mixed +=": "share =",
            "used += weights[length + 1]": (
                "mixed, used = max(mixed, share), used + weights[length + 1]"
            ),
        },
        hint="You keep the largest contribution. A mixture is the sum of all of them.",
    ),
    mistake(
        "All orders get the same weight.",
        replace={
            "weights[0] / vocab_size, weights[0]": "1 / vocab_size, 1",
            "mixed += weights[length + 1] *": "mixed +=",
            "used += weights[length + 1]": "used += 1",
        },
        hint="You take a plain mean of the estimates. The argument weights says how much each of "
        "them counts.",
    ),
    mistake(
        "The weight that is left goes to the uniform alone.",
        replace={"mixed / used": "mixed + (1 - used) / vocab_size"},
        hint="You give the weight of silent orders to the uniform. The contract shares it among "
        "all that are left, in proportion: divide by the weights used.",
    ),
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
    item="ps1_interpolated_prob",
    points=11,
    target="interpolated_prob",
    reference=interpolated_prob,
    parts=PARTS,
    mistakes=MISTAKES,
    seconds=5.0,
)
