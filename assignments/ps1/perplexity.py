"""The task "perplexity"."""

import math
from collections.abc import Sequence

import numpy as np
import torch

from autograder.authoring.checks import (
    Case,
    Check,
    Part,
    alternatives,
    counted,
    mistake,
    mistakes,
    nothing_else_changes,
)
from course_pkg import evaluation

from .inputs import (
    KEEPS,
    Generator,
)

# -- inputs ----------------------------------------------------------------------------------------


def draw_log_probs(rng: Generator) -> list[Case]:
    """Short texts, as a list, a tuple and an array."""
    cases = []
    for size, make in [(1, list), (3, tuple), (7, list), (12, np.array)]:
        values = np.log(rng.uniform(0.01, 0.9, size)).tolist()
        cases.append(Case(counted(size, "target"), {"log_probs": make(values)}))
    return cases


def draw_long_log_probs(rng: Generator) -> list[Case]:
    """Texts whose probability no float can hold, and one with an impossible token."""
    long = [np.log(rng.uniform(1e-6, 0.5, size)).tolist() for size in (3001, 30011)]
    impossible = [-1.0, -float("inf"), -2.0]
    cases = [Case(f"{len(values)} targets", {"log_probs": values}) for values in long]
    return [*cases, Case("3 targets, one impossible", {"log_probs": impossible})]


# -- probes ----------------------------------------------------------------------------------------


def score(implementation, inputs):
    """Return the perplexity as a float."""
    return float(implementation(inputs["log_probs"]))


def score_and_keep(implementation, inputs):
    """Return the perplexity of a list, and the list after it."""
    values = list(inputs["log_probs"])
    return float(implementation(values)), values


# -- the reference version -------------------------------------------------------------------------


def perplexity(log_probs: Sequence[float]) -> float:
    """Evaluate with the package."""
    return evaluation.perplexity(torch.tensor(np.asarray(log_probs, dtype=np.float64)))


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
        "Long texts do not run out of digits, and one impossible token gives infinity.",
        draw_long_log_probs,
        score,
        weight=3,
    ),
    nothing_else_changes(KEEPS, draw_log_probs, score_and_keep),
)


# -- mistakes --------------------------------------------------------------------------------------


def right_answer(log_probs):
    """The answer that the mistakes start from."""
    mean = sum(log_probs) / len(log_probs)
    return math.exp(-mean)


MISTAKES = mistakes(
    right_answer,
    mistake(
        "The sum is taken instead of the mean.",
        replace={" / len(log_probs)": ""},
        hint="A longer text should not look worse only because it is longer. Look at what you do "
        "with the sum before the exponential.",
    ),
    mistake(
        "Nats are treated as if they were bits.",
        replace={"math.exp(-mean)": "2**-mean"},
        hint="The logarithms are natural ones, so only the exponential with the same base undoes "
        "them. Two raised to a power belongs to base-2 logarithms.",
    ),
    mistake(
        "The probabilities are multiplied, and a long product is 0.",
        replace={
            "mean = sum(log_probs) / len(log_probs)": "product = math.prod(map(math.exp, log_probs)"
            ")",
            "math.exp(-mean)": "product ** (-1 / len(log_probs)) if product else math.inf",
        },
        hint="This is right on paper. On a computer the product of some hundred probabilities is "
        "0. Stay with sums of logarithms to the end.",
    ),
    mistake(
        "The minus sign is missing.",
        replace={"-mean": "mean"},
        hint="Your perplexity is below 1. A model cannot hesitate among less than one token. Look "
        "for a sign.",
    ),
    mistake(
        "The cross-entropy is returned, without the exponential.",
        replace={"math.exp(-mean)": "-mean"},
        hint="This is the cross-entropy in nats, one step before the goal. Which function turns "
        "nats back into a number of choices?",
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
            "sum(log_probs) / len(log_probs)": "float(np.mean([x for x in log_probs if x > -math."
            "inf]))",
        },
        hint="A token of probability 0 is the worst mistake a model can make. You leave it out; "
        "the perplexity should be infinite.",
    ),
    mistake(
        "The sum is divided by one target too few.",
        replace={"/ len(log_probs)": "/ max(1, len(log_probs) - 1)"},
        hint="Check the number by which you divide. Every entry of log_probs is one target.",
    ),
    mistake(
        "The arguments are taken for probabilities.",
        replace={"math.exp(-mean)": "float(np.exp(-np.mean(np.log(np.abs(log_probs)))))"},
        hint="The arguments are logarithms already. You seem to take the logarithm once more.",
    ),
)


# -- alternatives ----------------------------------------------------------------------------------


def by_numpy(log_probs):
    """Takes the mean with NumPy."""
    return np.exp(-np.mean(log_probs))


def by_running_mean(log_probs):
    """Keeps a running mean."""
    mean = 0.0
    for n, log_prob in enumerate(log_probs, start=1):
        if log_prob == -math.inf:
            return math.inf
        mean += (log_prob - mean) / n
    return math.exp(-mean)


def by_statistics(log_probs):
    """Uses the standard library's mean."""
    from statistics import fmean

    return math.exp(fmean(-log_prob for log_prob in log_probs))


def by_bits(log_probs):
    """Goes by way of bits."""
    bits = -sum(log_prob / math.log(2) for log_prob in log_probs)
    return 2 ** (bits / len(log_probs))


def by_roots(log_probs):
    """Multiplies roots, which stay near 1."""
    product = 1.0
    for log_prob in log_probs:
        product *= math.exp(-log_prob / len(log_probs))
    return product


CHECK = Check(
    item="ps1_perplexity",
    points=8,
    target="perplexity",
    reference=perplexity,
    parts=PARTS,
    mistakes=MISTAKES,
    alternatives=alternatives(by_numpy, by_running_mean, by_statistics, by_bits, by_roots),
    seconds=5.0,
)
