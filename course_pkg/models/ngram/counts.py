"""Counting n-grams of every order at once, in sorted arrays instead of dictionaries.

An n-gram is numbered by its place among the sorted n-grams of its order, and is stored as one
integer, `key = (number of its history) * V + (its last token)`. So a k-gram of any length fits in
64 bits, the n-grams that share a history stand side by side, and a lookup is a binary search.
Chapter: n-gram models. `course_pkg.models.ngram.probabilities` says the same with dictionaries.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from operator import index

import numpy as np
import numpy.typing as npt

from course_pkg.common.checks import documents_of_ids, whole_numbers

IntArray = npt.NDArray[np.int64]

UNSEEN = -1
"""The number of an n-gram that was never counted."""


def document_stream(documents: Sequence[Sequence[int]], vocab_size: int, eos_id: int) -> IntArray:
    """Join documents to `eos w w w eos w w eos`: each eos ends one document and starts the next.

    Raises:
        ValueError: if there is no document, one is no list of ids or contains eos_id, or an id is
            not in [0, V).
    """
    whole_numbers(vocab_size=vocab_size)
    whole_numbers(at_least=-1, eos_id=eos_id)
    if not 0 <= eos_id < vocab_size:
        raise ValueError(f"eos_id is {eos_id}; it must be at least 0 and below {vocab_size}")
    documents_of_ids(documents)
    if len(documents) == 0:
        raise ValueError("documents is empty; counting needs at least one document")
    lengths = np.fromiter(map(len, documents), np.int64, len(documents))
    try:  # by index: NumPy would cut off fractions
        ids = map(index, chain.from_iterable(documents))
        tokens = np.fromiter(ids, np.int64, int(lengths.sum()))
    except TypeError as error:
        raise ValueError(f"an id in documents is no whole number: {error}") from error
    check_ids("documents", tokens, vocab_size)
    ends = np.cumsum(lengths)
    if (tokens == eos_id).any():
        number = np.searchsorted(ends, np.argmax(tokens == eos_id), side="right")
        raise ValueError(
            f"document {number} contains eos_id {eos_id}; eos is added around each document"
        )
    return np.insert(tokens, np.concatenate([[0], ends]), eos_id)


def check_ids(name: str, ids: IntArray, vocab_size: int) -> None:
    """Reject ids outside [0, V), which would silently look up another n-gram."""
    if ids.size and (ids.min() < 0 or ids.max() >= vocab_size):
        wrong = ids.min() if ids.min() < 0 else ids.max()
        raise ValueError(f"{name} contains {wrong}; ids must be at least 0 and below {vocab_size}")


@dataclass(frozen=True)
class NGramIndex:
    """Which n-grams exist.

    Attributes:
        keys: per order the sorted keys. Order 1 lists the whole vocabulary, seen or not, so that
            the number of a 1-gram is its token id.
    """

    keys: tuple[IntArray, ...]
    vocab_size: int

    @property
    def order(self) -> int:
        """The length of the longest n-grams."""
        return len(self.keys)

    def lookup(self, order: int, histories: IntArray, tokens: IntArray) -> IntArray:
        """Number the n-grams `history, token`; UNSEEN where either is.

        Args:
            histories: numbers of n-grams of `order - 1`, of the same shape as tokens.
        """
        numbers = np.full(tokens.shape, UNSEEN, np.int64)
        keys = self.keys[order - 1]
        known = histories != UNSEEN
        wanted = histories[known] * self.vocab_size + tokens[known]
        if len(keys) == 0 or wanted.size == 0:
            return numbers
        # Sorted queries walk through memory in order: twice as fast, the sorting included.
        by_size = np.argsort(wanted)
        wanted = wanted[by_size]
        places = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        found = np.empty_like(places)
        found[by_size] = np.where(keys[places] == wanted, places, UNSEEN)
        numbers[known] = found
        return numbers

    def find(self, ids: IntArray) -> list[IntArray]:
        """Number the n-grams of order 1, 2, ... that end at each position of each row.

        An n-gram that would begin before its row is UNSEEN. So is one that reaches back over an
        eos, because no document has an eos inside.
        """
        numbers = [ids]
        for order in range(2, self.order + 1):
            longer = np.full(ids.shape, UNSEEN, np.int64)
            longer[:, 1:] = self.lookup(order, numbers[-1][:, :-1], ids[:, 1:])
            numbers.append(longer)
        return numbers

    def children(self, order: int, histories: IntArray) -> tuple[IntArray, IntArray]:
        """List all n-grams of `order` that continue each of the histories.

        Returns:
            rows: for each n-gram, the place of its history in `histories`.
            numbers: the n-grams.
        """
        keys = self.keys[order - 1]
        first = np.searchsorted(keys, histories * self.vocab_size)
        n_children = np.searchsorted(keys, (histories + 1) * self.vocab_size) - first
        rows = np.repeat(np.arange(len(histories)), n_children)
        # Within a row the numbers run on from `first`; the row itself starts after all before it.
        starts = np.cumsum(n_children) - n_children
        return rows, np.arange(len(rows)) + (first - starts)[rows]


@dataclass(frozen=True)
class OrderCounts:
    """The n-grams of one order with one kind of count.

    Attributes:
        counts: of each n-gram.
        histories: for each n-gram, the number of its history, one order lower; 0 at order 1.
        totals: for each history, the sum of its n-grams' counts; 0 where it has none.
    """

    order: int
    vocab_size: int
    counts: IntArray
    histories: IntArray
    totals: IntArray


@dataclass(frozen=True)
class NGramTables:
    """What the smoothing methods need to know of a corpus, one array per order.

    Attributes:
        counts: how often each n-gram was seen. At order 1 the vocabulary's other tokens have 0.
        continuations: how many different tokens came before it; plain counts where nothing can:
            n-grams that begin a document, and the highest order, as Kneser–Ney wants them.
        suffixes: the number, one order lower, of each n-gram without its first token.
    """

    index: NGramIndex
    counts: tuple[IntArray, ...]
    continuations: tuple[IntArray, ...]
    suffixes: tuple[IntArray, ...]
    eos_id: int

    @classmethod
    def count(
        cls, documents: Sequence[Sequence[int]], order: int, vocab_size: int, eos_id: int
    ) -> "NGramTables":
        """Count all n-grams of order 1 to `order`.

        Args:
            documents: ids without eos; each is counted as `[eos, *document, eos]`, of which the
                first eos is context only.
        """
        whole_numbers(order=order)
        stream = document_stream(documents, vocab_size, eos_id)
        age = position_in_document(stream[None], eos_id)[0]
        keys = [np.arange(vocab_size)]
        counts = [np.bincount(stream[1:], minlength=vocab_size)]
        suffixes = [np.zeros(vocab_size, np.int64)]
        starts_document = [np.zeros(vocab_size, bool)]
        previous = stream
        for n in range(2, order + 1):
            ends = np.flatnonzero(age >= n - 1)  # where an n-gram of one document ends
            here, numbers, counted = np.unique(
                previous[ends - 1] * vocab_size + stream[ends],
                return_inverse=True,
                return_counts=True,
            )
            suffix, at_start = np.empty(len(here), np.int64), np.zeros(len(here), bool)
            suffix[numbers] = previous[ends]
            at_start[numbers[age[ends] == n - 1]] = True
            keys.append(here)
            counts.append(counted)
            suffixes.append(suffix)
            starts_document.append(at_start)
            previous = np.full(len(stream), UNSEEN, np.int64)
            previous[ends] = numbers
        continuations = [
            np.where(
                starts_document[n],
                counts[n],
                np.bincount(suffixes[n + 1], minlength=len(counts[n])),
            )
            for n in range(order - 1)
        ]
        return cls(
            index=NGramIndex(tuple(keys), vocab_size),
            counts=tuple(counts),
            continuations=(*continuations, counts[-1]),
            suffixes=tuple(suffixes),
            eos_id=eos_id,
        )

    def at_order(self, order: int, *, continuations: bool = False) -> OrderCounts:
        """Return one order's counts, plain ones or continuations, beside their histories."""
        keys, vocab_size = self.index.keys[order - 1], self.index.vocab_size
        counts = (self.continuations if continuations else self.counts)[order - 1]
        # At order 1 the keys are the tokens, below V, so that all get the one empty history 0.
        histories = keys // vocab_size
        n_histories = len(self.index.keys[order - 2]) if order > 1 else 1
        # A running sum counts in integers, which np.bincount's weights would not.
        ends = np.searchsorted(histories, np.arange(n_histories + 1))
        totals = np.diff(np.concatenate([[0], np.cumsum(counts)])[ends])
        return OrderCounts(order, vocab_size, counts, histories, totals)

    @property
    def n_ngrams(self) -> tuple[int, ...]:
        """How many different n-grams of each order were seen."""
        return tuple(int(np.count_nonzero(counts)) for counts in self.counts)

    def unseen_shares(self, documents: Sequence[Sequence[int]]) -> tuple[float, ...]:
        """Return, per order, the share of the documents' n-grams that were never counted.

        An n-gram is a target with the history that a model of this order sees, so near a
        document's start it is shorter.
        """
        stream = document_stream(documents, self.index.vocab_size, self.eos_id)[None]
        age = position_in_document(stream, self.eos_id)
        unseen = self.counts[0][stream] == 0
        shares = []
        for order, numbers in enumerate(self.index.find(stream), start=1):
            if order > 1:
                unseen = np.where(age >= order - 1, numbers == UNSEEN, unseen)
            shares.append(float(unseen[:, 1:].mean()))
        return tuple(shares)

    def seen_history_lengths(self, documents: Sequence[Sequence[int]]) -> IntArray:
        """Say for each target how many of the tokens just before it were seen together.

        Counted are at most `order - 1` tokens, the eos that starts the document among them.

        Returns:
            one number for each token and each closing eos, the documents one after the other.
        """
        stream = document_stream(documents, self.index.vocab_size, self.eos_id)[None]
        lengths = np.zeros(stream.shape[1] - 1, np.int64)
        for order, numbers in enumerate(self.index.find(stream)[:-1], start=1):
            seen = numbers != UNSEEN if order > 1 else self.counts[0][stream] > 0
            lengths += seen[0, :-1]
        # The n-gram that ends with a document's last eos is no history of the next document.
        return np.minimum(lengths, position_in_document(stream, self.eos_id)[0, 1:])


def position_in_document(ids: IntArray, eos_id: int) -> IntArray:
    """Say for each position, as a target, how many ids of its own document come before it.

    The eos that starts the document counts. Where no eos has come yet, all of the row does.
    """
    places = np.arange(ids.shape[1])
    starts = np.where(ids == eos_id, places, 0)
    # A target's document starts at the last eos before it, not at the target itself.
    starts[:, 1:] = np.maximum.accumulate(starts, axis=1)[:, :-1]
    starts[:, :1] = 0
    return places - starts
