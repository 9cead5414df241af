"""Numbers for tasks with a right answer: classes, scores, sentences, spans, alignments.

Each is a few lines, because each is a definition; the papers' formulas stand in the docstrings.
Lists, tensors and arrays may be passed alike.
Reported by the chapters on sequence to sequence and on fine-tuning.
"""

import math
from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np
from torch import Tensor

Items = Sequence[Any] | Tensor | np.ndarray
"""One thing for each item: its class, its score, its sentence or its tokens."""


def accuracy(predicted: Items, gold: Items) -> float:
    """Return the share of items that are right.

    Raises:
        ValueError: no items, or lists of different lengths.
    """
    predicted, gold = _classes(predicted, gold)
    return sum(p == g for p, g in zip(predicted, gold, strict=True)) / len(gold)


def f1(predicted: Items, gold: Items, *, positive: Hashable = 1) -> float:
    """Return the harmonic mean of precision and recall of one class: 2 tp / (2 tp + fp + fn).

    It is 0 where the class is neither predicted nor right anywhere.

    Args:
        predicted: classes that the model chose.
        gold: right classes.
        positive: the class in question.

    Raises:
        ValueError: no items, or lists of different lengths; or two classes or more, none of which
            is `positive`.

    Example:
        >>> f1([1, 1, 0, 0], [1, 0, 1, 0])
        0.5
    """
    pairs = list(zip(*_classes(predicted, gold), strict=True))
    classes = sorted({repr(item) for pair in pairs for item in pair})
    if len(classes) > 1 and not any(positive in pair for pair in pairs):
        raise ValueError(
            f"positive is {positive!r}; the items have {', '.join(classes[:3])}: name one of them"
        )
    hits = sum(p == g == positive for p, g in pairs)
    misses = sum((p == positive) != (g == positive) for p, g in pairs)
    return 2 * hits / (2 * hits + misses) if hits else 0.0


def macro_f1(predicted: Items, gold: Items) -> float:
    """Return the mean of `f1` over all classes that occur, so that rare ones count as much.

    Raises:
        ValueError: no items, or lists of different lengths.
    """
    predicted, gold = _classes(predicted, gold)
    classes = set(predicted) | set(gold)
    return sum(f1(predicted, gold, positive=c) for c in classes) / len(classes)


def matthews(predicted: Items, gold: Items) -> float:
    """Return the correlation of prediction and truth as class indicators, for two classes or more.

    Matthews 1975 for two classes; Gorodkin 2004, eq. 8, for more. It is 0 for a constant guess.

    Raises:
        ValueError: no items, or lists of different lengths.
    """
    predicted, gold = _classes(predicted, gold)
    classes = sorted(set(predicted) | set(gold), key=repr)
    p = np.array([[x == c for c in classes] for x in predicted], dtype=float)
    g = np.array([[x == c for c in classes] for x in gold], dtype=float)
    p, g = p - p.mean(axis=0), g - g.mean(axis=0)
    spread = math.sqrt((p * p).sum() * (g * g).sum())
    return float((p * g).sum() / spread) if spread else 0.0


def pearson(predicted: Items, gold: Items) -> float:
    """Return the linear correlation of two lists of numbers; nan where one does not vary.

    Raises:
        ValueError: fewer than two items, or lists of different lengths.
    """
    predicted, gold = _pairs(predicted, gold, at_least=2)
    p, g = np.asarray(predicted, dtype=float), np.asarray(gold, dtype=float)
    p, g = p - p.mean(), g - g.mean()
    spread = math.sqrt((p @ p) * (g @ g))
    return float(p @ g / spread) if spread else math.nan


def spearman(predicted: Items, gold: Items) -> float:
    """Return the correlation of the ranks; equal numbers share their mean rank.

    Raises:
        ValueError: fewer than two items, or lists of different lengths.
    """
    return pearson(_ranks(predicted), _ranks(gold))


def _ranks(values: Items) -> list[float]:
    numbers = np.asarray(_plain(values), dtype=float)
    if np.isnan(numbers).any():
        raise ValueError("an item is nan; it has no rank")
    _, group, sizes = np.unique(numbers, return_inverse=True, return_counts=True)
    mean_rank = np.cumsum(sizes) - (sizes - 1) / 2
    ranks: list[float] = mean_rank[group].tolist()
    return ranks


References = Sequence[str] | Sequence[Sequence[str]]
"""For each text of a model one that a person wrote, or several."""


def bleu(hypotheses: Sequence[str], references: References) -> float:
    """Return corpus BLEU from 0 to 100, as sacrebleu computes it (Papineni et al. 2002; Post 2018).

    Args:
        hypotheses: translations as plain text, not tokenized.
        references: one right translation for each, or several.

    Raises:
        ValueError: no items, or lists of different lengths.
        ImportError: sacrebleu is not installed.
    """
    hypotheses, several = _pairs_with_references(hypotheses, references)
    try:
        import sacrebleu
    except ImportError as error:
        raise ImportError("BLEU is computed by sacrebleu; pip install sacrebleu") from error
    most = max(map(len, several))  # it wants first references, second ones, ...: None where none is
    streams: Any = [[r[n] if n < len(r) else None for r in several] for n in range(most)]
    score: float = sacrebleu.corpus_bleu(list(hypotheses), streams).score
    return score


def rouge(hypotheses: Sequence[str], references: References) -> dict[str, float]:
    """Return ROUGE-1, -2 and -L from 0 to 100: shared words, word pairs, and common subsequence.

    F1 of each text, of the best of its references, averaged (Lin 2004, sections 2 and 3); words are
    lower-cased and stemmed. As rouge-score computes it, which agrees with Lin's own script.

    Args:
        hypotheses: summaries as plain text.
        references: one summary by a person for each, or several.

    Raises:
        ValueError: no items, or lists of different lengths.
        ImportError: rouge-score is not installed.
    """
    hypotheses, several = _pairs_with_references(hypotheses, references)
    try:
        from rouge_score.rouge_scorer import RougeScorer
    except ImportError as error:
        raise ImportError("ROUGE is computed by rouge-score; pip install rouge-score") from error
    kinds = ["rouge1", "rouge2", "rougeL"]
    scorer = RougeScorer(kinds, use_stemmer=True)
    scores = [
        scorer.score_multi(refs, text) for text, refs in zip(hypotheses, several, strict=True)
    ]
    return {k: 100 * sum(score[k].fmeasure for score in scores) / len(scores) for k in kinds}


def edit_distance(first: Items, second: Items) -> int:
    """Return how few insertions, deletions and replacements turn one into the other.

    Levenshtein 1966, by the table of Wagner & Fischer 1974, of which one row is kept.

    Example:
        >>> edit_distance("kitten", "sitting")
        3
    """
    first, second = _plain(first), _plain(second)
    row = list(range(len(second) + 1))
    for i, x in enumerate(first, 1):
        diagonal, row[0] = row[0], i
        for j, y in enumerate(second, 1):
            diagonal, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, diagonal + (x != y))
    return row[-1]


def error_rate(hypotheses: Items, references: Items) -> float:
    """Return edits per reference token: word, phoneme or character error rate by what is passed.

    Raises:
        ValueError: no items, lists of different lengths, or references without any token.
    """
    hypotheses, references = _pairs(hypotheses, references)
    n_tokens = sum(len(reference) for reference in references)
    if n_tokens == 0:
        raise ValueError("references contain no token; there is nothing to divide by")
    pairs = zip(hypotheses, references, strict=True)
    return sum(edit_distance(h, r) for h, r in pairs) / n_tokens


def span_f1(predicted: Iterable[Any], gold: Iterable[Any]) -> float:
    """Return F1 of two sets of spans, each right only as a whole; 1 where both are empty.

    Args:
        predicted: spans such as (sentence, first, last, label).
        gold: right spans.
    """
    ours, theirs = (set(_list(spans)) for spans in (predicted, gold))
    if not ours and not theirs:
        return 1.0
    return 2 * len(ours & theirs) / (len(ours) + len(theirs))


def alignment_error_rate(
    predicted: Iterable[Any],
    sure: Iterable[Any],
    possible: Iterable[Any] | None = None,
) -> float:
    """Return 1 - (|A & S| + |A & P|) / (|A| + |S|): Och & Ney 2003, section 6.

    Args:
        predicted: links (source position, target position), the A of the formula.
        sure: links that must be found.
        possible: links that may be found, the sure ones among them; default: the sure ones.

    Raises:
        ValueError: no predicted and no sure link, or a sure link that is not possible.
    """
    predicted, sure = set(_list(predicted)), set(_list(sure))
    possible = sure if possible is None else set(_list(possible))
    if not sure <= possible:
        raise ValueError(f"sure has {sorted(sure - possible)[0]}, which is not possible")
    if not predicted and not sure:
        raise ValueError("predicted and sure are both empty; there is nothing to compare")
    found = len(predicted & sure) + len(predicted & possible)
    return 1 - found / (len(predicted) + len(sure))


def _pairs(predicted: Any, gold: Any, *, at_least: int = 1) -> tuple[Sequence, Sequence]:
    """Return both as plain values, an equal number of each."""
    predicted, gold = _list(predicted), _list(gold)
    if len(predicted) != len(gold):
        raise ValueError(f"{len(predicted)} predictions for {len(gold)} items; pair them")
    if len(gold) < at_least:
        raise ValueError(f"there are {len(gold)} items; it takes at least {at_least}")
    return predicted, gold


def _classes(predicted: Any, gold: Any) -> tuple[Sequence, Sequence]:
    """Return classes in pairs, where None is no answer; a list of scores is refused."""
    predicted, gold = _pairs(predicted, gold)
    for number, (ours, theirs) in enumerate(zip(predicted, gold, strict=True)):
        is_none = ours is None or theirs is None  # no answer, beside a span
        if isinstance(ours, tuple) != isinstance(theirs, tuple) and not is_none:
            raise ValueError(
                f"item {number} is predicted as {ours!r:.40} and in truth {theirs!r:.40}; of "
                "scores take the argmax first"
            )
        if isinstance(ours, str) != isinstance(theirs, str) and not is_none:
            raise ValueError(
                f"item {number} is predicted as {ours!r:.40} and in truth {theirs!r:.40}; text "
                "equals no number: name the classes alike"
            )
    return predicted, gold


def _pairs_with_references(hypotheses: Any, references: Any) -> tuple[Sequence, list[tuple]]:
    """Return texts, and for each a tuple of references."""
    hypotheses, references = _pairs(hypotheses, references)
    several = [(refs,) if isinstance(refs, str) else tuple(refs) for refs in references]
    for number, refs in enumerate(several):
        if not refs:
            raise ValueError(f"item {number} has no reference; it takes at least 1")
    return hypotheses, several


def _list(values: Any) -> list:
    """Return the items as plain values."""
    if isinstance(values, str):
        raise ValueError(f"{values[:20]!r} is one string; it must be a list of items")
    values = values.tolist() if hasattr(values, "tolist") else values
    return [_plain(value) for value in values]


def _plain(value: Any) -> Any:
    """Turn tensors and arrays into what is compared, and hashed, by value."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    return tuple(_plain(part) for part in value) if isinstance(value, list | tuple) else value
