"""The checks of problem set 1, n-gram models: what is asked and demanded of each answer.

Students count words; the grader counts numbers and pairs too, since a right answer does not care.
The reference versions are those of `course_pkg`, which speaks ids: tokens are numbered on the way
in and put back on the way out. In every part something depends on real values, so that no answer
earns points by merely not failing.
"""

import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from importlib import import_module
from typing import Any

import numpy as np
import torch

from assignments.checks import ps1_draws as draws
from assignments.checks import ps1_probes as probes
from autograder.checks import Check, Inputs, Part, ProblemSet
from autograder.compare import agree
from course_pkg import evaluation
from course_pkg.models import ngram

Token = Hashable
History = tuple[Token, ...]
Counts = Mapping[History, Mapping[Token, int]]

# -- the package's versions, for tokens of any kind ------------------------------------------------


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
    seen = ngram.visible_history(ids.of(tokens), order, ids[eos])
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


# -- judges ----------------------------------------------------------------------------------------

_agree = agree()


def sums_to_one(observed: Any, expected: Any, inputs: Inputs) -> str | None:
    """Hold where distributions agree; if not, say first whether they are distributions at all."""
    wrong = _agree(observed, expected, inputs)
    if wrong is None or type(observed) is not list:
        return wrong
    for probs in observed:
        if type(probs) is list and all(type(prob) is float for prob in probs):
            total = math.fsum(probs)
            if not abs(total - 1) < 1e-9:  # rounding of a few terms; nan is caught too
                return f"after some history the probabilities of all tokens sum to {total:.4g}"
    return wrong


def stays_linear(observed: Any, expected: Any, inputs: Inputs) -> str | None:
    """Hold where the counts agree and the work grew no faster than the text."""
    wrong = _agree(observed, expected, inputs)
    if wrong and type(observed) is tuple and observed[:2] == expected[:2]:
        return "twice the text takes more than three times the work"
    return wrong


# -- the set ---------------------------------------------------------------------------------------

_KEEPS = "It leaves its arguments as they were; a second call does not change the first answer."
_LOOKS_UP = (
    "It leaves its arguments as they were; looking up adds no keys, in a defaultdict either."
)


def _check(item: str, points: float, reference: Any, *parts: Part) -> Check:
    answers = import_module(f"assignments.answers.ps1.{item}")
    return Check(
        item=f"ps1_{item}",
        points=points,
        target=item,
        reference=reference,
        parts=parts,
        mistakes=answers.MISTAKES,
        alternatives=answers.ALTERNATIVES,
        seconds=5.0,
    )


PROBLEM_SET = ProblemSet(
    name="ps1",
    title="n-gram models",
    course_modules=(),
    checks=(
        _check(
            "count_ngrams",
            14,
            count_ngrams,
            Part(
                "values",
                "Every history has the right followers, each with the right count.",
                draws.draw_documents,
                probes.count_once,
                weight=6.5,
            ),
            Part(
                "short documents",
                "Documents that are empty, or shorter than a history, are counted too.",
                draws.draw_edge_documents,
                probes.count_once,
                weight=1.5,
            ),
            Part("arguments", _KEEPS, draws.draw_documents, probes.count_twice),
            Part(
                "cost",
                "The work grows in proportion to the length of the text.",
                draws.draw_growing_documents,
                probes.count_growing,
                judge=stays_linear,
            ),
        ),
        _check(
            "mle_prob",
            6,
            mle_prob,
            Part(
                "values",
                "After a history that was seen, the estimate is the relative frequency.",
                draws.draw_mle,
                probes.estimate,
                weight=6,
            ),
            Part(
                "unseen",
                "After a history that was never seen, every token has probability 0.",
                draws.draw_mle_unseen,
                probes.estimate,
                weight=3,
            ),
            Part("arguments", _LOOKS_UP, draws.draw_mle_unseen, probes.estimate_and_keep),
        ),
        _check(
            "visible_history",
            8,
            visible_history,
            Part(
                "values",
                "The last order - 1 tokens are returned as a tuple, none from before the last eos.",
                draws.draw_histories,
                probes.cut,
                weight=7,
            ),
            Part(
                "order 1",
                "A model of order 1 sees nothing, however long the text is.",
                draws.draw_first_order,
                probes.cut,
                weight=3,
            ),
        ),
        _check(
            "sample",
            10,
            sample,
            Part(
                "values",
                "The token that owns the place u is drawn.",
                draws.draw_lines,
                probes.draw,
                weight=6,
            ),
            Part(
                "ends",
                "Each piece owns its left end only, and a token of probability 0 owns nothing.",
                draws.draw_boundary_lines,
                probes.draw,
                weight=2,
            ),
            Part(
                "rounding",
                "Where rounding leaves the sum below u, the last possible token is drawn.",
                draws.draw_uneven_lines,
                probes.draw,
            ),
            Part(
                "no other chance",
                "The answer depends on the arguments only, and leaves them as they were.",
                draws.draw_lines,
                probes.draw_alone,
            ),
        ),
        _check(
            "perplexity",
            8,
            perplexity,
            Part(
                "values",
                "The perplexity is the exponential of the mean negative log-probability.",
                draws.draw_log_probs,
                probes.score,
                weight=7,
            ),
            Part(
                "long texts",
                "Long texts do not run out of digits, and one impossible token gives infinity.",
                draws.draw_long_log_probs,
                probes.score,
                weight=3,
            ),
        ),
        _check(
            "add_k_prob",
            8,
            add_k_prob,
            Part(
                "values",
                "After a history that was seen, k is added to every count.",
                draws.draw_add_k,
                probes.estimate,
                weight=6,
            ),
            Part(
                "unseen",
                "After every history, seen or not, the probabilities of all tokens sum to 1.",
                draws.draw_add_k_unseen,
                probes.estimate_everything,
                judge=sums_to_one,
                weight=3,
            ),
            Part("arguments", _LOOKS_UP, draws.draw_add_k_unseen, probes.estimate_and_keep),
        ),
        _check(
            "interpolated_prob",
            14,
            interpolated_prob,
            Part(
                "values",
                "Where all orders know the history, their estimates are mixed by weight.",
                draws.draw_interpolated,
                probes.estimate,
                weight=6,
            ),
            Part(
                "unseen",
                "Orders without an opinion are left out, and the probabilities still sum to 1.",
                draws.draw_interpolated_unseen,
                probes.estimate_everything,
                judge=sums_to_one,
                weight=3,
            ),
            Part("arguments", _LOOKS_UP, draws.draw_interpolated_unseen, probes.estimate_and_keep),
        ),
        _check(
            "continuation_counts",
            12,
            continuation_counts,
            Part(
                "values",
                "Each n-gram is counted once for every different token seen before it.",
                draws.draw_continuations,
                probes.continue_once,
                weight=6,
            ),
            Part(
                "starts",
                "Histories at the start of a document keep their counts.",
                draws.draw_start_continuations,
                probes.continue_once,
                weight=3,
            ),
            Part(
                "arguments",
                "The old counts stay as they are, even when the new ones change later.",
                draws.draw_start_continuations,
                probes.continue_and_change,
            ),
        ),
        _check(
            "kneser_ney_prob",
            12,
            kneser_ney_prob,
            Part(
                "order 2",
                "With two orders, the probabilities after histories that were seen are right.",
                draws.draw_kneser_ney_bigrams,
                probes.estimate,
                weight=3,
            ),
            Part(
                "any order",
                "With one order or with many, the probabilities are right.",
                draws.draw_kneser_ney,
                probes.estimate,
                weight=3,
            ),
            Part(
                "unseen",
                "After histories never seen, or too short, the probabilities still sum to 1.",
                draws.draw_kneser_ney_unseen,
                probes.estimate_everything,
                judge=sums_to_one,
                weight=3,
            ),
            Part("arguments", _LOOKS_UP, draws.draw_kneser_ney_unseen, probes.estimate_and_keep),
        ),
    ),
)

EQUIVALENT_MUTANTS = {
    "ps1_sample": {
        "last = None  →  pass": "Some probability is above 0, so the loop always sets `last`.",
    },
}
