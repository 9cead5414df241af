"""Answers to the task "perplexity"."""

import math

import numpy as np

from assignments.answers import alternatives, mistakes


def score_sum(log_probs):
    """The sum is taken instead of the mean."""
    return math.exp(-sum(log_probs))


def score_base_two(log_probs):
    """Nats are treated as if they were bits."""
    return 2 ** (-sum(log_probs) / len(log_probs))


def score_product(log_probs):
    """The probabilities are multiplied, and a long product is 0."""
    product = 1.0
    for log_prob in log_probs:
        product *= math.exp(log_prob)
    return math.inf if product == 0 else product ** (-1 / len(log_probs))


def score_without_minus(log_probs):
    """The minus sign is missing."""
    return math.exp(sum(log_probs) / len(log_probs))


def score_cross_entropy(log_probs):
    """The cross-entropy is returned, without the exponential."""
    return -sum(log_probs) / len(log_probs)


def score_mean_of_inverses(log_probs):
    """The inverse probabilities are averaged, not their logarithms."""
    return sum(math.exp(-log_prob) for log_prob in log_probs) / len(log_probs)


def score_possible_only(log_probs):
    """Impossible tokens are left out."""
    possible = [log_prob for log_prob in log_probs if log_prob > -math.inf]
    return math.exp(-sum(possible) / len(possible))


def score_one_target_less(log_probs):
    """The sum is divided by one target too few."""
    return math.exp(-sum(log_probs) / max(1, len(log_probs) - 1))


def score_log_of_log(log_probs):
    """The arguments are taken for probabilities."""
    return float(np.exp(-np.mean(np.log(np.abs(log_probs)))))


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


MISTAKES = mistakes(
    (
        score_sum,
        "A longer text should not look worse only because it is longer. Look at what you do "
        "with the sum before the exponential.",
    ),
    (
        score_base_two,
        "The logarithms are natural ones, so only the exponential with the same base undoes "
        "them. Two raised to a power belongs to base-2 logarithms.",
    ),
    (
        score_product,
        "This is right on paper. On a computer the product of some hundred probabilities is "
        "0. Stay with sums of logarithms to the end.",
    ),
    (
        score_without_minus,
        "Your perplexity is below 1. A model cannot hesitate among less than one token. Look "
        "for a sign.",
    ),
    (
        score_cross_entropy,
        "This is the cross-entropy in nats, one step before the goal. Which function turns "
        "nats back into a number of choices?",
    ),
    (
        score_mean_of_inverses,
        "You average the number of choices itself. One rare token then outweighs all others. "
        "The mean is taken over the logarithms.",
    ),
    (
        score_possible_only,
        "A token of probability 0 is the worst mistake a model can make. You leave it out; "
        "the perplexity should be infinite.",
    ),
    (
        score_one_target_less,
        "Check the number by which you divide. Every entry of log_probs is one target.",
    ),
    (
        score_log_of_log,
        "The arguments are logarithms already. You seem to take the logarithm once more.",
    ),
)

ALTERNATIVES = alternatives(by_numpy, by_running_mean, by_statistics, by_bits, by_roots)
