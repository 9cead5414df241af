"""The task "perplexity"."""

import math
from collections.abc import Sequence

import numpy as np
import torch

from autograder.authoring.checks import (
    Case,
    Check,
    Part,
    counted,
    mistake,
    mistakes,
    nothing_else_changes,
)
from course_pkg.evaluation import likelihood

from .inputs import (
    KEEPS,
    Generator,
)

# -- inputs ----------------------------------------------------------------------------------------


def draw_log_probs(rng: Generator) -> list[Case]:
    """Short texts, each as a list, a tuple and an array; all equally likely, and a sure one."""
    cases = []
    for size in (1, 3, 7, 12):
        values = np.log(rng.uniform(0.01, 0.9, size)).tolist()
        cases.append(Case(counted(size, "target"), {"log_probs": values}))
    cases.append(Case("5 targets, all alike", {"log_probs": [-1.25] * 5}))
    return [*cases, Case("2 targets, both certain", {"log_probs": [0.0, 0.0]})]


def draw_long_log_probs(rng: Generator) -> list[Case]:
    """Texts whose probability no float can hold, and one with an impossible token."""
    long = [np.log(rng.uniform(1e-6, 0.5, size)).tolist() for size in (3001, 30011)]
    impossible = [-1.0, -float("inf"), -2.0]
    cases = [Case(f"{len(values)} targets", {"log_probs": values}) for values in long]
    cases += [
        Case("2 targets near the smallest float", {"log_probs": [-700.0, -705.0]}),
        Case("one target below every float", {"log_probs": [-900.0] + [-1.5] * 9}),
        Case("one target far below, of 2000", {"log_probs": [-2e5] + [-1.5] * 1999}),
    ]
    return [*cases, Case("3 targets, one impossible", {"log_probs": impossible})]


def draw_infinite(rng: Generator) -> list[Case]:
    """Impossible tokens first, last and alone; a perplexity that no float can hold."""
    infinity = float("inf")
    return [
        Case("only an impossible target", {"log_probs": [-infinity]}),
        Case("an impossible target first", {"log_probs": [-infinity, -0.5]}),
        Case("an impossible target last", {"log_probs": [-3.0, 0.0, -infinity]}),
        Case("a perplexity beyond all floats", {"log_probs": [-1000.0, -2000.0]}),
    ]


def draw_all(rng: Generator) -> list[Case]:
    """Take some of each kind."""
    return [*draw_log_probs(rng), *draw_long_log_probs(rng)[2:], *draw_infinite(rng)]


# -- probes ----------------------------------------------------------------------------------------


def score(implementation, inputs):
    """Return the perplexity of a list, a tuple, an array, and arrays of other kinds."""
    import numpy as np

    values = inputs["log_probs"]
    strided, fixed = np.repeat(np.array(values), 2)[::2], np.array(values)
    fixed.flags.writeable = False
    return [float(implementation(x)) for x in (values, tuple(values), fixed, strided)]


def score_and_keep(implementation, inputs):
    """Return the perplexity of a list and an array, and both after it."""
    import numpy as np

    results, after = [], []
    for values in (list(inputs["log_probs"]), np.array(inputs["log_probs"])):
        try:
            results.append(float(implementation(values)))
        except Exception:
            results.append(None)  # whether there is a result is the business of other parts
        after.append(values)
    return results, after


# -- the reference version -------------------------------------------------------------------------


def perplexity(log_probs: Sequence[float]) -> float:
    """Evaluate with the package."""
    return likelihood.perplexity(torch.tensor(np.asarray(log_probs, dtype=np.float64)))


# -- parts -----------------------------------------------------------------------------------------

PARTS = (
    Part(
        "values",
        "The perplexity is the exponential of the mean negative log-probability.",
        draw_log_probs,
        score,
        weight=6,
    ),
    Part(
        "long texts",
        "Texts of any length do not run out of digits, however unlikely they are.",
        draw_long_log_probs,
        score,
        weight=2,
    ),
    Part(
        "infinity",
        "The perplexity is infinite if a token is impossible, or if no float could hold it.",
        draw_infinite,
        score,
    ),
    nothing_else_changes(KEEPS, draw_all, score_and_keep, says=("the call changes its argument",)),
)


# -- mistakes --------------------------------------------------------------------------------------


def right_answer(log_probs):
    """The answer that the mistakes start from."""
    mean = sum(log_probs) / len(log_probs)
    return math.exp(-mean) if mean > -709 else math.inf


MISTAKES = mistakes(
    right_answer,
    mistake(
        "The sum is taken instead of the mean.",
        replace={"sum(log_probs) / len(log_probs)": "sum(log_probs)"},
        hint="A longer text should not look worse only because it is longer. Look at what you do "
        "with the sum before the exponential.",
        keeps=0.3,
    ),
    mistake(
        "Nats are treated as if they were bits.",
        replace={"math.exp(-mean)": "2**-mean"},
        hint="The logarithms are natural ones, so only the exponential with the same base undoes "
        "them. Two raised to a power belongs to base-2 logarithms.",
        keeps=0.5,
    ),
    mistake(
        "The probabilities are multiplied, and a long product is 0.",
        replace={
            "mean = sum(log_probs) / len(log_probs)": """
                product = math.prod(map(math.exp, log_probs))
                mean = math.log(product) / len(log_probs) if product else -math.inf
            """,
        },
        hint="This is right on paper. On a computer the product of some hundred probabilities is "
        "0. Stay with sums of logarithms to the end.",
    ),
    mistake(
        "A perplexity beyond every float raises an error.",
        replace={" if mean > -709 else math.inf": ""},
        hint="For a very unlikely text your function fails with an OverflowError. Its perplexity "
        "is beyond every float: catch the error, and return infinity.",
    ),
    mistake(
        "Tokens below the smallest float make the perplexity infinite.",
        replace={"mean > -709": "min(log_probs) > -709"},
        hint="One very unlikely token does not make the perplexity infinite: the mean over the "
        "text is what counts. Only a probability of exactly 0 does.",
    ),
    mistake(
        "The minus sign is missing.",
        replace={"-mean": "mean"},
        hint="Your perplexity is below 1. A model cannot hesitate among less than one token. Look "
        "for a sign.",
        keeps=0.5,
    ),
    mistake(
        "The cross-entropy is returned, without the exponential.",
        replace={"math.exp(-mean)": "-mean"},
        hint="This is the cross-entropy in nats, one step before the goal. Which function turns "
        "nats back into a number of choices?",
        keeps=0.3,
    ),
    mistake(
        "The inverse probabilities are averaged, not their logarithms.",
        replace={"math.exp(-mean)": "sum(math.exp(-x) for x in log_probs) / len(log_probs)"},
        hint="You average the number of choices itself. One rare token then outweighs all others. "
        "The mean is taken over the logarithms.",
    ),
    mistake(
        "Impossible tokens are left out.",
        replace={
            "sum(log_probs)": "sum(x for x in log_probs if x > -math.inf)",
        },
        hint="A token of probability 0 is the worst mistake a model can make. You leave it out; "
        "the perplexity should be infinite.",
    ),
    mistake(
        "The sum is divided by one target too few.",
        replace={"/ len(log_probs)": "/ max(1, len(log_probs) - 1)"},
        hint="Check the number by which you divide. Every entry of log_probs is one target.",
        keeps=0.5,
    ),
    mistake(
        "The arguments are treated as probabilities.",
        replace={"math.exp(-mean)": "float(np.exp(-np.mean(np.log(np.abs(log_probs)))))"},
        hint="The arguments are logarithms already. You seem to take the logarithm once more.",
    ),
)

CHECK = Check(
    item="ps1_perplexity",
    points=8,
    target="perplexity",
    reference=perplexity,
    parts=PARTS,
    mistakes=MISTAKES,
    seconds=5.0,
)
