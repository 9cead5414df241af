"""n-gram probabilities from plain dictionaries: each method of the chapter, written to be read.

An n-gram model guesses the next token from the `order - 1` tokens before it. Counting is easy; the
art is what to do about histories and tokens that the training text never showed: smoothing.
These functions are slow on purpose and say what `NGram` computes fast; tests keep the two equal.
Chapter: n-gram models. Jelinek & Mercer 1980; Ney, Essen & Kneser 1994; Kneser & Ney 1995;
Chen & Goodman 1999.

A document is counted as `[eos, *document, eos]`: the first eos is context and never a target, the
last is a target. The literature writes `<s>` and `</s>` for these two; here one id plays both.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

History = tuple[int, ...]
NGramCounts = dict[History, Counter[int]]

FALLBACK_DISCOUNT = 0.75
"""Stands in for the single discount where n1 or n2 is zero: a corpus too small to estimate it."""

FALLBACK_DISCOUNTS = (0.5, 1.0, 1.5)
"""Stands in for the three modified discounts where they cannot be estimated, as KenLM's does."""


def count_ngrams(documents: Sequence[Sequence[int]], order: int, eos_id: int) -> NGramCounts:
    """Count which tokens follow each history of `order - 1` tokens.

    Histories never cross a document's start, so a document's first targets have shorter ones:
    `(eos,)`, then `(eos, w1)`, and so on.

    Args:
        documents: ids without eos; an empty document still has one target, its eos.

    Raises:
        ValueError: if order is below 1, there is no document, or a document contains eos_id.

    Example:
        >>> count_ngrams([[5, 7, 5, 7]], order=2, eos_id=0)
        {(0,): Counter({5: 1}), (5,): Counter({7: 2}), (7,): Counter({5: 1, 0: 1})}
    """
    if order < 1:
        raise ValueError(f"order is {order}; it must be at least 1")
    if len(documents) == 0:
        raise ValueError("documents is empty; counting needs at least one document")
    counts: NGramCounts = {}
    for number, document in enumerate(documents):
        if eos_id in document:
            raise ValueError(
                f"document {number} contains eos_id {eos_id}; eos is added around each document"
            )
        sequence = (eos_id, *document, eos_id)
        for t in range(1, len(sequence)):
            history = sequence[max(0, t - order + 1) : t]
            counts.setdefault(history, Counter())[sequence[t]] += 1
    return counts


def context_of(ids: Sequence[int], order: int, eos_id: int) -> History:
    """Return the context in which the next token is predicted: the last `order - 1` ids.

    A context never reaches back beyond the last eos.

    Example:
        >>> context_of([4, 0, 5, 7], order=3, eos_id=0)
        (5, 7)
        >>> context_of([4, 0, 5, 7], order=5, eos_id=0)
        (0, 5, 7)
    """
    history: History = ()
    for token in reversed(ids):
        if len(history) == order - 1:
            break
        history = (token, *history)
        if token == eos_id:
            break
    return history


def mle_prob(counts: NGramCounts, history: History, token: int) -> float:
    """Return the relative frequency of `token` after `history`: maximum likelihood.

    A history that was never seen predicts nothing: every token gets 0, as in nltk.lm.
    """
    if history not in counts:
        return 0.0
    return counts[history][token] / counts[history].total()


def add_k_prob(
    counts: NGramCounts, history: History, token: int, *, k: float | int, vocab_size: int
) -> float:
    """Pretend to have seen every token `k` more times after every history (k = 1: Laplace).

    A history that was never seen predicts all V tokens alike.
    """
    if not k > 0:
        raise ValueError(f"k is {k}; it must be positive (k = 0 is maximum likelihood)")
    _check_token(token, vocab_size)
    following = counts.get(history, Counter())
    return (following[token] + k) / (following.total() + k * vocab_size)


def interpolated_prob(
    counts_by_order: Sequence[NGramCounts],
    history: History,
    token: int,
    *,
    weights: Sequence[float],
    vocab_size: int,
) -> float:
    """Mix the maximum-likelihood models of all orders and the uniform (Jelinek & Mercer 1980).

    Orders whose history was never seen, or is longer than the one given, say nothing; their
    weight is shared among the others in proportion, so that the result still sums to one.

    Args:
        counts_by_order: `count_ngrams` of order 1, 2, ... in this order.
        weights: one for the uniform, then one per order; they sum to one.
    """
    check_weights(weights, order=len(counts_by_order))
    _check_token(token, vocab_size)
    prob, total_weight = weights[0] / vocab_size, weights[0]
    for length, counts in enumerate(counts_by_order):
        suffix = history[len(history) - length :]
        if length > len(history) or suffix not in counts:
            break  # longer histories that end in this one were not seen either
        prob += weights[length + 1] * mle_prob(counts, suffix, token)
        total_weight += weights[length + 1]
    return prob / total_weight


def absolute_discounting_prob(
    counts_by_order: Sequence[NGramCounts],
    history: History,
    token: int,
    *,
    discounts: Sequence[float],
    vocab_size: int,
) -> float:
    """Take a constant off every count and spread what that frees like the next shorter history.

    P(w | h) = max(c(hw) - D, 0) / c(h) + D N1+(h) / c(h) * P(w | shorter h), where N1+(h) counts
    the different tokens seen after h: Ney, Essen & Kneser 1994. Below order 1 stands the uniform
    over V. A history that was never seen leaves everything to the shorter one.

    Args:
        counts_by_order: `count_ngrams` of order 1, 2, ... in this order.
        discounts: one per order, each between 0 and 1.
    """
    _check_length("discounts", discounts, counts_by_order)
    return _discounted_prob(
        counts_by_order, history, token, lambda order, count: discounts[order - 1], vocab_size
    )


def continuation_counts(counts: NGramCounts, order: int) -> NGramCounts:
    """Count how many different tokens were seen before each n-gram of `order` tokens.

    "Francisco" is frequent but follows one word; few contexts other than "San" should predict it.
    That is the idea of Kneser & Ney 1995. An n-gram that begins with the start eos has nothing
    before it; it keeps its plain count.

    Args:
        counts: `count_ngrams` of the next higher order, `order + 1`.

    Raises:
        ValueError: if counts has histories of more than `order` tokens.

    Example:
        >>> bigrams = count_ngrams([[5, 7], [6, 7], [6, 7]], order=2, eos_id=0)
        >>> continuation_counts(bigrams, order=1)
        {(): Counter({7: 2, 5: 1, 6: 1, 0: 1})}
    """
    result: NGramCounts = {}
    for history, following in counts.items():
        if len(history) > order:
            raise ValueError(
                f"counts has the history {history} of {len(history)} tokens; "
                f"continuation counts of order {order} come from counts of order {order + 1}"
            )
        if len(history) == order:
            # Each pair (first token, rest of the n-gram) is here once: one more predecessor.
            result.setdefault(history[1:], Counter()).update(following.keys())
        else:  # a document's start
            result[history] = Counter(following)
    return result


def kneser_ney_counts(
    documents: Sequence[Sequence[int]], order: int, eos_id: int
) -> list[NGramCounts]:
    """Return what Kneser–Ney looks up at order 1, ..., `order`.

    The highest order has plain counts, every lower one continuation counts.
    """
    plain = [count_ngrams(documents, n, eos_id) for n in range(1, order + 1)]
    lower = [continuation_counts(plain[n], n) for n in range(1, order)]
    return [*lower, plain[-1]]


def kneser_ney_prob(
    counts_by_order: Sequence[NGramCounts],
    history: History,
    token: int,
    *,
    discounts: Sequence[float],
    vocab_size: int,
) -> float:
    """Interpolated Kneser–Ney: absolute discounting of the right counts.

    Args:
        counts_by_order: from `kneser_ney_counts`; with plain counts this would be plain absolute
            discounting.
        discounts: one per order, each between 0 and 1.
    """
    return absolute_discounting_prob(
        counts_by_order, history, token, discounts=discounts, vocab_size=vocab_size
    )


def modified_kneser_ney_prob(
    counts_by_order: Sequence[NGramCounts],
    history: History,
    token: int,
    *,
    discounts: Sequence[Sequence[float]],
    vocab_size: int,
) -> float:
    """Kneser–Ney with three discounts per order, by count: 1, 2, 3 and more (Chen & Goodman 1999).

    Args:
        counts_by_order: from `kneser_ney_counts`.
        discounts: `(D1, D2, D3+)` of each order, as from `modified_discounts`.
    """
    _check_length("discounts", discounts, counts_by_order)
    return _discounted_prob(
        counts_by_order,
        history,
        token,
        lambda order, count: discounts[order - 1][min(count, 3) - 1],
        vocab_size,
    )


def count_of_counts(counts: NGramCounts, order: int) -> Counter[int]:
    """Return how many different n-grams of exactly `order` tokens were counted once, twice, ...

    Example:
        >>> count_of_counts(count_ngrams([[5, 7, 5, 7]], order=2, eos_id=0), order=2)
        Counter({1: 3, 2: 1})
    """
    return Counter(
        count
        for history, following in counts.items()
        if len(history) == order - 1  # shorter histories, at a document's start, are lower orders
        for count in following.values()
    )


def absolute_discount(n: Mapping[int, int]) -> float:
    """Estimate one discount, n1 / (n1 + 2 n2): Ney, Essen & Kneser 1994.

    Args:
        n: `n[c]` n-grams were counted c times. Without any n-gram counted once, or twice, the
            estimate is useless and FALLBACK_DISCOUNT is returned.
    """
    n1, n2 = n.get(1, 0), n.get(2, 0)
    if n1 == 0 or n2 == 0:
        return FALLBACK_DISCOUNT
    return n1 / (n1 + 2 * n2)


def modified_discounts(n: Mapping[int, int]) -> tuple[float, float, float]:
    """Estimate the discounts of counts 1, 2, and 3 or more: Chen & Goodman 1999.

    Y = n1 / (n1 + 2 n2) and D_c = c - (c + 1) Y n_{c+1} / n_c: eq. 26 of their report of 1998.

    Args:
        n: `n[c]` n-grams were counted c times. Where n1, n2 or n3 is zero, or an estimate leaves
            0 < D_c <= c, all three are FALLBACK_DISCOUNTS: a discount of zero would give tokens
            never seen after a history no probability at all.
    """
    n1, n2, n3, n4 = (n.get(count, 0) for count in (1, 2, 3, 4))
    if n1 == 0 or n2 == 0 or n3 == 0:
        return FALLBACK_DISCOUNTS
    y = n1 / (n1 + 2 * n2)
    discounts = (1 - 2 * y * n2 / n1, 2 - 3 * y * n3 / n2, 3 - 4 * y * n4 / n3)
    if any(not 0 < discount <= count for count, discount in enumerate(discounts, start=1)):
        return FALLBACK_DISCOUNTS
    return discounts


def check_weights(weights: Sequence[float], order: int) -> None:
    """Reject interpolation weights that cannot make a distribution."""
    if len(weights) != order + 1:
        raise ValueError(
            f"weights has {len(weights)} entries; order {order} needs {order + 1}: "
            "the uniform and one per order"
        )
    if min(weights) < 0 or abs(sum(weights) - 1) > 1e-9:  # 1e-9: rounding of a sum, no more
        raise ValueError(f"weights is {list(weights)}; they must be non-negative and sum to 1")
    if weights[0] + weights[1] == 0:
        raise ValueError(
            f"weights is {list(weights)}; the uniform or order 1 needs some, for unseen histories"
        )


def _discounted_prob(
    counts_by_order: Sequence[NGramCounts],
    history: History,
    token: int,
    discount_of: Callable[[int, int], float],
    vocab_size: int,
) -> float:
    """Interpolate discounted counts of every order, from the uniform upwards."""
    _check_token(token, vocab_size)
    prob = 1 / vocab_size
    for order, counts in enumerate(counts_by_order, start=1):
        suffix = history[len(history) - (order - 1) :]
        if order - 1 > len(history) or suffix not in counts:
            break  # longer histories that end in this one were not seen either
        following = counts[suffix]
        # At most the whole count can be taken off: a discount of 1.5 leaves 0 of 1, not -0.5.
        taken = {w: min(discount_of(order, count), count) for w, count in following.items()}
        discounted = following[token] - taken.get(token, 0.0)
        prob = (discounted + sum(taken.values()) * prob) / following.total()
    return prob


def _check_token(token: int, vocab_size: int) -> None:
    if not 0 <= token < vocab_size:
        raise ValueError(f"token is {token}; it must be at least 0 and below {vocab_size}")


def _check_length(
    name: str, values: Sequence[object], counts_by_order: Sequence[NGramCounts]
) -> None:
    if len(values) != len(counts_by_order):
        raise ValueError(f"{name} has {len(values)} entries; one per order: {len(counts_by_order)}")
