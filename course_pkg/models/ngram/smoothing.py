"""The smoothing methods of the n-gram chapter behind one interface, as Chen & Goodman 1999 do it.

Each method answers one question: which discounted probability does each n-gram seen after a history
get from its own count, and what back-off mass does that leave for the lower order to distribute?
`NGram.fit` builds every order from the answers. Chapter: n-gram models.
`course_pkg.models.ngram.probabilities` has the formulas in readable form.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal, TypeVar

import numpy as np
import numpy.typing as npt

from course_pkg.models.ngram.counts import (
    UNSEEN,
    IntArray,
    NGramTables,
    OrderCounts,
    document_stream,
)
from course_pkg.models.ngram.probabilities import (
    absolute_discount,
    check_weights,
    modified_discounts,
)

FloatArray = npt.NDArray[np.float64]
Parameter = TypeVar("Parameter")
LowerOrder = Literal["shorter history", "uniform", "nothing"]

LEAST_BACKOFF_MASS = 1e-6
"""Back-off mass of the longest history, even if it was always right on held-out text: without any,
an unseen history would have no distribution to back off to."""

EM_TOLERANCE = 1e-7
"""Fitting weights stops when a round gains less than this many nats per held-out token."""


class Smoothing(ABC):
    """What `NGram.fit` asks of a smoothing method.

    Attributes:
        lower_order: the distribution over which the back-off mass is spread. Below order 1 that of
            a shorter history is the uniform. After an unseen history it gets everything.
        counts_continuations: lower orders count different predecessors, not occurrences.
    """

    lower_order: ClassVar[LowerOrder] = "shorter history"
    counts_continuations: ClassVar[bool] = False

    def fitted(self, tables: NGramTables) -> "Smoothing":
        """Return a copy in which every parameter left open is estimated; here none is."""
        return self

    @abstractmethod
    def discount(self, seen: OrderCounts) -> tuple[FloatArray, FloatArray]:
        """Divide the probability after each history between its n-grams and the lower order.

        Returns:
            discounted: the probability of each n-gram from its own count.
            backoff_mass: what that leaves after each history: 1 where nothing was seen.
        """


@dataclass(frozen=True)
class MLE(Smoothing):
    """Relative frequencies. A history never seen gives every token probability 0."""

    lower_order: ClassVar[LowerOrder] = "nothing"

    def discount(self, seen: OrderCounts) -> tuple[FloatArray, FloatArray]:
        """Keep everything."""
        discounted: FloatArray = seen.counts / seen.totals[seen.histories]
        return discounted, np.zeros(len(seen.totals))


@dataclass(frozen=True)
class AddK(Smoothing):
    """Every token counts as seen `k` more times after every history; k = 1 is Laplace's rule."""

    k: float | int = 1.0
    lower_order: ClassVar[LowerOrder] = "uniform"

    def __post_init__(self) -> None:
        if not self.k > 0:
            raise ValueError(f"k is {self.k}; it must be positive (k = 0 is MLE)")

    def discount(self, seen: OrderCounts) -> tuple[FloatArray, FloatArray]:
        """Leave k V in every c + k V to the uniform."""
        added = self.k * seen.vocab_size
        totals = seen.totals.astype(np.float64) + added
        return seen.counts / totals[seen.histories], added / totals


@dataclass(frozen=True)
class Interpolated(Smoothing):
    """A mixture of the maximum-likelihood models of all orders (Jelinek & Mercer 1980).

    Attributes:
        weights: one for the uniform, then one per order, summing to one.
        held_out: documents not counted, on which to fit the weights if they are not given.
    """

    weights: tuple[float, ...] | None = None
    held_out: Sequence[Sequence[int]] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if (self.weights is None) == (self.held_out is None):
            raise ValueError("give either weights or held_out documents to fit them on")

    def fitted(self, tables: NGramTables) -> "Interpolated":
        """Fit the weights to the held-out documents unless they were given."""
        weights = self.weights
        if weights is None:
            held_out = _given("held_out", self.held_out)
            weights = fit_weights(*_component_probs(tables, held_out))
        check_weights(weights, tables.index.order)
        return replace(self, weights=weights, held_out=None)

    def discount(self, seen: OrderCounts) -> tuple[FloatArray, FloatArray]:
        """Keep this order's weight relative to that of all orders up to it."""
        weights = _given("weights", self.weights)
        weight = weights[seen.order] / sum(weights[: seen.order + 1])
        discounted = weight * seen.counts / seen.totals[seen.histories]
        return discounted, np.where(seen.totals > 0, 1 - weight, 1.0)


@dataclass(frozen=True)
class AbsoluteDiscounting(Smoothing):
    """A constant off every count (Ney, Essen & Kneser 1994).

    Attributes:
        discounts: one per order, in (0, 1]; estimated as n1 / (n1 + 2 n2) if not given.
    """

    discounts: tuple[float, ...] | None = None

    def fitted(self, tables: NGramTables) -> "AbsoluteDiscounting":
        """Estimate the discounts unless they were given."""
        discounts = self.discounts
        if discounts is None:
            orders = _all_orders(tables, self.counts_continuations)
            discounts = tuple(absolute_discount(_count_of_counts(seen)) for seen in orders)
        _check_discounts([(discount,) for discount in discounts], tables.index.order)
        return replace(self, discounts=discounts)

    def discount(self, seen: OrderCounts) -> tuple[FloatArray, FloatArray]:
        """Take the same discount off every count."""
        discount = _given("discounts", self.discounts)[seen.order - 1]
        return _discount(seen, (discount, discount, discount))


@dataclass(frozen=True)
class KneserNey(AbsoluteDiscounting):
    """Interpolated Kneser–Ney 1995: absolute discounting of continuation counts."""

    counts_continuations: ClassVar[bool] = True


@dataclass(frozen=True)
class ModifiedKneserNey(Smoothing):
    """Kneser–Ney with separate discounts for counts of 1, 2, and 3 or more (Chen & Goodman 1999).

    Attributes:
        discounts: `(D1, D2, D3+)` per order, each in (0, count]; estimated if not given.
    """

    discounts: tuple[tuple[float, float, float], ...] | None = None
    counts_continuations: ClassVar[bool] = True

    def fitted(self, tables: NGramTables) -> "ModifiedKneserNey":
        """Estimate the discounts unless they were given."""
        discounts = self.discounts
        if discounts is None:
            orders = _all_orders(tables, self.counts_continuations)
            discounts = tuple(modified_discounts(_count_of_counts(seen)) for seen in orders)
        _check_discounts(discounts, tables.index.order)
        return replace(self, discounts=discounts)

    def discount(self, seen: OrderCounts) -> tuple[FloatArray, FloatArray]:
        """Take off the discount that fits the count."""
        return _discount(seen, _given("discounts", self.discounts)[seen.order - 1])


def fit_weights(probs: FloatArray, is_known: npt.NDArray[np.bool_]) -> tuple[float, ...]:
    """Find the mixture weights under which held-out targets are likeliest, by EM.

    Each round asks how much each component contributed to each target, and gives it that share of
    the weight. The shares are taken among components up to an order, at the targets where that
    order has seen the history, because `interpolated_prob` renormalises in the same way.

    Args:
        probs: a row per target: its probability by the uniform, by order 1, by order 2, ...
        is_known: false where that order never saw the history; then so are all higher ones.
    """
    n_components = probs.shape[1]
    weights = np.full(n_components, 1 / n_components)
    previous = -np.inf
    while True:
        joint = np.where(is_known, weights * probs, 0.0)
        total = joint.sum(axis=1, keepdims=True)
        normaliser = np.where(is_known, weights, 0.0).sum(axis=1, keepdims=True)
        log_likelihood = float(np.log(total / normaliser).mean())
        if log_likelihood - previous < EM_TOLERANCE:
            return tuple((weights / weights.sum()).tolist())
        previous = log_likelihood
        up_to = np.cumsum(joint / total, axis=1)
        weights = np.ones(n_components)
        for order in range(1, n_components):
            rows = is_known[:, order]
            reached = up_to[rows, order].sum()
            own = reached - up_to[rows, order - 1].sum()
            # Where the order was never asked, nothing is known of it: it gets no weight.
            share = min(own / reached, 1 - LEAST_BACKOFF_MASS) if reached > 0 else 0.0
            weights[:order] *= 1 - share
            weights[order] = share


def _given(name: str, value: Parameter | None) -> Parameter:
    if value is None:
        raise ValueError(f"{name} is None; give it, or let fitted(tables) estimate it")
    return value


def _component_probs(
    tables: NGramTables, documents: Sequence[Sequence[int]]
) -> tuple[FloatArray, npt.NDArray[np.bool_]]:
    """Return, for every target of the documents, each order's relative frequency of it."""
    vocab_size = tables.index.vocab_size
    stream = document_stream(documents, vocab_size, tables.eos_id)[None]
    numbers = tables.index.find(stream)
    n_targets = stream.shape[1] - 1
    probs = np.zeros((n_targets, tables.index.order + 1))
    is_known = np.zeros(probs.shape, bool)
    probs[:, 0], is_known[:, 0] = 1 / vocab_size, True
    histories = np.zeros(n_targets, np.int64)
    for order in range(1, tables.index.order + 1):
        seen = tables.at_order(order)
        counts = _counts_of(numbers[order - 1][0, 1:], seen.counts)
        totals = _counts_of(histories, seen.totals)
        is_known[:, order] = totals > 0
        probs[:, order] = counts / np.maximum(totals, 1)
        histories = numbers[order - 1][0, :-1]
    return probs, is_known


def _counts_of(numbers: IntArray, counts: IntArray) -> IntArray:
    found = np.zeros(numbers.shape, np.int64)
    is_seen = numbers != UNSEEN
    found[is_seen] = counts[numbers[is_seen]]
    return found


def _all_orders(tables: NGramTables, continuations: bool) -> Iterable[OrderCounts]:
    for order in range(1, tables.index.order + 1):
        yield tables.at_order(order, continuations=continuations)


def _count_of_counts(seen: OrderCounts) -> dict[int, int]:
    return dict(enumerate(np.bincount(np.minimum(seen.counts, 5), minlength=5).tolist()))


def _discount(
    seen: OrderCounts, discounts: tuple[float, float, float]
) -> tuple[FloatArray, FloatArray]:
    by_count = np.array([0.0, *discounts])[np.minimum(seen.counts, 3)]
    taken = np.minimum(by_count, seen.counts)  # a discount of 1.5 leaves 0 of 1, not -0.5
    freed = np.bincount(seen.histories, weights=taken, minlength=len(seen.totals))
    totals = np.maximum(seen.totals, 1)
    discounted = (seen.counts - taken) / totals[seen.histories]
    return discounted, np.where(seen.totals > 0, freed / totals, 1.0)


def _check_discounts(discounts: Sequence[tuple[float, ...]], order: int) -> None:
    if len(discounts) != order:
        raise ValueError(f"discounts has {len(discounts)} entries; order {order} needs {order}")
    for of_order in discounts:
        for count, discount in enumerate(of_order, start=1):
            if not 0 < discount <= count:
                raise ValueError(
                    f"a discount for count {count} is {discount}; it must be above 0, "
                    f"or unseen tokens may get no probability, and at most {count}"
                )
