"""The package's versions of what problem set 1 asks for, for tokens of any kind.

The package speaks ids: tokens are numbered on the way in and put back on the way out.
"""

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence

import numpy as np
import torch

from course_pkg import evaluation
from course_pkg.models import ngram

Token = Hashable
History = tuple[Token, ...]
Counts = Mapping[History, Mapping[Token, int]]


class _Ids(dict[Token, int]):
    """Numbers tokens in the order in which they are first asked for."""

    def __missing__(self, token: Token) -> int:
        self[token] = len(self)
        return self[token]

    def of(self, tokens: Sequence[Token]) -> tuple[int, ...]:
        return tuple(self[token] for token in tokens)

    def of_counts(self, counts: Counts) -> dict[tuple[int, ...], Counter[int]]:
        return {
            self.of(history): Counter({self[token]: n for token, n in row.items()})
            for history, row in counts.items()
        }

    def back(self, counts: Mapping[tuple[int, ...], Counter[int]]) -> Counts:
        tokens = list(self)
        return {
            tuple(tokens[i] for i in history): Counter({tokens[i]: n for i, n in row.items()})
            for history, row in counts.items()
        }


def count_ngrams(documents: Sequence[Sequence[Token]], order: int, eos: Token) -> Counts:
    """Count with the package."""
    ids = _Ids()
    return ids.back(ngram.count_ngrams([ids.of(d) for d in documents], order, ids[eos]))


def mle_prob(counts: Counts, history: History, token: Token) -> float:
    """Estimate with the package."""
    ids = _Ids()
    return ngram.mle_prob(ids.of_counts(counts), ids.of(history), ids[token])


def visible_history(tokens: Sequence[Token], order: int, eos: Token) -> History:
    """Cut with the package."""
    ids = _Ids()
    seen = ngram.context_of(ids.of(tokens), order, ids[eos])
    return tuple(list(ids)[i] for i in seen)


def sample(probs: Mapping[Token, float], u: float) -> Token:
    """Invert the cumulative distribution with NumPy's binary search."""
    tokens = [token for token, prob in probs.items() if prob > 0]
    ends = np.cumsum([probs[token] for token in tokens])
    return tokens[min(int(np.searchsorted(ends, u, side="right")), len(tokens) - 1)]


def perplexity(log_probs: Sequence[float]) -> float:
    """Evaluate with the package."""
    return evaluation.perplexity(torch.tensor(np.asarray(log_probs, dtype=np.float64)))


def add_k_prob(
    counts: Counts, history: History, token: Token, *, k: float, vocab_size: int
) -> float:
    """Smooth with the package."""
    ids = _Ids()
    number, table = ids[token], ids.of_counts(counts)
    return ngram.add_k_prob(table, ids.of(history), number, k=k, vocab_size=vocab_size)


def interpolated_prob(
    counts_by_order: Sequence[Counts],
    history: History,
    token: Token,
    *,
    weights: Sequence[float],
    vocab_size: int,
) -> float:
    """Mix with the package."""
    ids = _Ids()
    number, tables = ids[token], [ids.of_counts(counts) for counts in counts_by_order]
    return ngram.interpolated_prob(
        tables, ids.of(history), number, weights=weights, vocab_size=vocab_size
    )


def continuation_counts(counts: Counts, order: int) -> Counts:
    """Count contexts with the package."""
    ids = _Ids()
    return ids.back(ngram.continuation_counts(ids.of_counts(counts), order))


def kneser_ney_prob(
    counts_by_order: Sequence[Counts],
    history: History,
    token: Token,
    *,
    discounts: Sequence[float],
    vocab_size: int,
) -> float:
    """Discount with the package."""
    ids = _Ids()
    number, tables = ids[token], [ids.of_counts(counts) for counts in counts_by_order]
    return ngram.kneser_ney_prob(
        tables, ids.of(history), number, discounts=discounts, vocab_size=vocab_size
    )
