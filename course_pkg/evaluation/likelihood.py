"""What is reported, for any model: one yardstick from the unigram table to GPT.

A language model is judged by the probability it gives to text it has not seen. The unit is the nat
per token; perplexity is its exponential; bits per byte divides by the text's own length instead,
so that models with different tokenizers can stand in one table.
Two conventions, and every number says which it uses. Per document (the default): a document is
read after `<eos>` alone, and its tokens and its closing `<eos>` are scored. As one stream: the
documents follow one another and may help to predict each other, as published Penn Treebank and
WikiText figures have it. Both score the same tokens. Chapter: what is a language model.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from course_pkg.common.checks import (
    check_id,
    documents_of_ids,
    not_used_up,
    real_number,
    whole_numbers,
)
from course_pkg.models import IGNORE, LanguageModel
from course_pkg.models.inference import inference
from course_pkg.text.tokenizers.vocabulary import Tokenizer, check_texts

_PIECE = 512
"""Positions read at once by models that carry a state; a matter of memory, not of results."""


@dataclass(frozen=True)
class Evaluation:
    """How well a model predicted a text.

    Attributes:
        nats_per_token: mean negative natural-log probability; inf if any token had none.
        n_tokens: predictions scored, `<eos>` among them.
        n_bytes: UTF-8 length of the text, `<eos>` not counted; None if not given.
        convention: "per document" or "one stream".
    """

    nats_per_token: float
    n_tokens: int
    n_bytes: int | None = None
    convention: str = "per document"

    @property
    def perplexity(self) -> float:
        """Exp of nats per token: of how many equally likely tokens the model is as unsure."""
        return _exp(self.nats_per_token)

    @property
    def bits_per_byte(self) -> float | None:
        """Bits to encode one byte of the text with this model; None without `n_bytes`."""
        if self.n_bytes is None:
            return None
        return bits_per_byte(self.nats_per_token * self.n_tokens, self.n_bytes)


def perplexity(log_probs: Float[Tensor, " T"]) -> float:
    """Return exp of the mean negative log-probability.

    Args:
        log_probs: natural logarithms; -inf gives an infinite perplexity.

    Raises:
        ValueError: no log-probability, or one above zero, or nan.

    Example:
        >>> round(perplexity(torch.tensor([0.5, 0.125]).log()), 6)
        4.0
    """
    if not isinstance(log_probs, Tensor):
        raise ValueError(f"log_probs is {type(log_probs).__name__}; it must be a tensor")
    if len(log_probs) == 0:
        raise ValueError("log_probs is empty; perplexity needs at least one prediction")
    _check_log_probs(log_probs)
    return _exp(-log_probs.cpu().double().mean().item())


def bits_per_byte(nats: float | int, n_bytes: int) -> float:
    """Turn the nats of a whole text into bits per byte of it.

    Args:
        nats: negative log-probability of the text, summed over its tokens.
        n_bytes: its length in UTF-8.

    Raises:
        ValueError: `n_bytes` below 1, or nats that are negative or nan.

    Example:
        >>> round(bits_per_byte(nats=math.log(256), n_bytes=4), 6)
        2.0
    """
    whole_numbers(n_bytes=n_bytes)
    if not real_number("nats", nats) >= -1e-3:  # rounded, a sum of zeros may be below
        raise ValueError(f"nats is {nats}; it must be at least 0")
    return nats / math.log(2) / n_bytes


def count_bytes(texts: Iterable[str]) -> int:
    """Return the UTF-8 length of some documents, the ends between them not counted."""
    check_texts(texts)
    return sum(len(text.encode()) for text in texts)


def bytes_per_token(tokenizer: Tokenizer, texts: Sequence[str]) -> float:
    """Return how many bytes of text a token covers on average; 1 for bytes, more if it compresses.

    Raises:
        ValueError: the texts give no token, or are one string.
    """
    check_texts(texts)
    not_used_up(texts=texts)
    n_tokens = sum(len(tokenizer.encode(text)) for text in texts)
    if n_tokens == 0:
        raise ValueError("texts give no token; there is nothing to divide by")
    return count_bytes(texts) / n_tokens


def evaluate(
    model: LanguageModel,
    documents: Sequence[Sequence[int]],
    n_bytes: int | None = None,
    *,
    eos_id: int,
    as_stream: bool = False,
    batch_size: int = 16,
    context_length: int | None = None,
    stride: int | None = None,
) -> Evaluation:
    """Score documents with a language model.

    Args:
        model: any that keeps the contract of `course_pkg.models`.
        documents: token ids, without `<eos>`.
        n_bytes: UTF-8 length of the same documents (see `count_bytes`).
        eos_id: stands before each document as context and after it as a target.
        as_stream: let each document be read after the ones before it.
        batch_size: rows scored at once; changes no result beyond rounding.
        context_length: read at most so many tokens; default: what the model can.
        stride: how far a window slides where the text is longer than the context, so that each
            prediction sees at least `context_length - stride` tokens; default: half the context.

    Raises:
        ValueError: no documents, an id out of range, a model that gives nan, one that is no
            `LanguageModel`, such as a BERT, or one whose predictions change with later tokens.
    """
    if n_bytes is not None:
        whole_numbers(n_bytes=n_bytes)
    scores = token_log_probs(
        model,
        documents,
        eos_id=eos_id,
        as_stream=as_stream,
        batch_size=batch_size,
        context_length=context_length,
        stride=stride,
    )
    _check_past_only(model, documents, eos_id)
    n_tokens = sum(len(row) for row in scores)
    nats = -sum(row.sum().item() for row in scores)
    convention = "one stream" if as_stream else "per document"
    return Evaluation(nats / n_tokens, n_tokens, n_bytes, convention)


def token_log_probs(
    model: LanguageModel,
    documents: Sequence[Sequence[int]],
    *,
    eos_id: int,
    as_stream: bool = False,
    batch_size: int = 16,
    context_length: int | None = None,
    stride: int | None = None,
) -> list[Float[Tensor, " T"]]:
    """Return, for each document, the log-probability of each of its tokens and of its `<eos>`.

    The arguments are those of `evaluate`; the results are in nats, float64, on the CPU.

    Raises:
        ValueError: no documents, an id out of range, a model that gives nan, or one that is no
            `LanguageModel` and has no `target_log_probs`, such as a BERT.
    """
    if not (isinstance(model, LanguageModel) or hasattr(model, "target_log_probs")):
        raise ValueError(
            f"model is {type(model).__name__}, which has no next_log_probs; it must predict each "
            "token from those before it. One that also sees what follows, such as a BERT, sees the "
            "answer: use course_pkg.evaluation.scoring.pseudo_perplexity"
        )
    documents_of_ids(documents)
    if len(documents) == 0:
        raise ValueError("documents is empty; there is nothing to score")
    whole_numbers(batch_size=batch_size)
    check_id("eos_id", eos_id, model.vocab_size)
    if (own := getattr(model, "eos_id", eos_id)) != eos_id:
        raise ValueError(f"eos_id is {eos_id}; the model was made with {own}")
    texts = [torch.tensor([eos_id, *document, eos_id]) for document in documents]
    for number, text in enumerate(texts):
        if text.min() < 0 or text.max() >= model.vocab_size:
            wrong = int(text.min() if text.min() < 0 else text.max())
            raise ValueError(
                f"document {number} has id {wrong}; the model knows ids below {model.vocab_size}"
            )
    lengths = [len(text) - 1 for text in texts]
    if as_stream:  # the eos that ends a document is the one that the next starts from
        texts = [torch.cat([texts[0], *(text[1:] for text in texts[1:])])]
    reader = _Reader(model, eos_id, batch_size, context_length, stride)
    scores = reader.read(texts)
    if as_stream:
        return list(scores[0].split(lengths))
    return scores


_N_CHECKED = 16
"""Tokens in which a look ahead is searched for."""


def _check_past_only(model: Any, documents: Sequence[Sequence[int]], eos_id: int) -> None:
    """Refuse a model that sees the answer: one whose mask was taken out, say.

    One small forward pass: two rows that differ in the last token must be predicted alike up to it.
    A model with `target_log_probs` has its own way to read, and is taken at its word.
    """
    n = min(_N_CHECKED, model.context_length or _N_CHECKED)
    longest = max(documents, key=len)
    if hasattr(model, "target_log_probs") or min(n, 1 + len(longest), model.vocab_size) < 2:
        return
    row = torch.tensor([eos_id, *longest[: n - 1]])
    rows = torch.stack([row, row])
    rows[1, -1] = (row[-1] + 1) % model.vocab_size
    with inference(model) as device:
        first, second = model(rows.to(device))[0][:, :-1]
    # Rows of a batch are computed alike, so that they differ by a rounding at most.
    bound = max(1e-4, torch.finfo(first.dtype).eps) * first.abs().max()
    if bool((first - second).abs().max() > bound):
        raise ValueError(
            f"model is {type(model).__name__}; what it predicts before token {len(row) - 1} of a "
            "text changes with that token: it sees what follows (is its causal mask missing?), and "
            "so the answer"
        )


class _Reader:
    """Scores texts by the best way that a model offers.

    `target_log_probs` where there is one; else, for a model that carries a state (`forward_from`),
    piece after piece; else windows that overlap where the text is longer than the context.
    """

    def __init__(
        self,
        model: LanguageModel,
        eos_id: int,
        batch_size: int,
        context_length: int | None,
        stride: int | None,
    ) -> None:
        self.model: Any = model
        self.eos_id, self.batch_size = eos_id, batch_size
        for name, number in (("context_length", context_length), ("stride", stride)):
            if number is not None:
                whole_numbers(**{name: number})
        limits = [n for n in (context_length, model.context_length) if n is not None]
        self.context_length = min(limits, default=None)
        if self.context_length is not None and self.context_length < 1:
            raise ValueError(f"context_length is {context_length}; it must be at least 1")
        self.stride = stride if stride is not None else max(1, (self.context_length or 2) // 2)
        if self.stride < 1 or self.stride > (self.context_length or self.stride):
            raise ValueError(
                f"stride is {stride}; it must be at least 1 and at most {self.context_length}"
            )

    def read(self, texts: list[Tensor]) -> list[Tensor]:
        """Return the log-probability of every token of each text after the first."""
        scores = [torch.empty(len(text) - 1, dtype=torch.float64) for text in texts]
        windows = [
            (number, *window)
            for number, text in enumerate(texts)
            for window in self._windows(len(text) - 1)
        ]
        windows.sort(key=lambda w: w[3] - w[1], reverse=True)  # like lengths together: less padding
        with inference(self.model) as device:
            for first in range(0, len(windows), self.batch_size):
                batch = windows[first : first + self.batch_size]
                rows = [texts[number][begin : end + 1] for number, begin, _, end in batch]
                log_probs = self._score(rows, device)
                for row, (number, begin, fresh, end) in zip(log_probs, batch, strict=True):
                    scores[number][fresh:end] = row[fresh - begin : end - begin]
        for row in scores:
            _check_log_probs(row)
        return scores

    def _windows(self, n: int) -> Iterator[tuple[int, int, int]]:
        """Yield (begin, first fresh prediction, end) of windows that score n predictions once."""
        length = self.context_length or n
        end = min(length, n)
        yield 0, 0, end
        while end < n:
            fresh, end = end, min(end + self.stride, n)
            yield end - length, fresh, end

    def _score(self, rows: list[Tensor], device: torch.device) -> Tensor:
        """Score a batch of rows of ids; each predicts its tokens after the first."""
        longest = max(len(row) for row in rows) - 1
        ids = torch.full((len(rows), longest), self.eos_id)
        targets = torch.full((len(rows), longest), IGNORE)
        for i, row in enumerate(rows):  # right padding: a causal model cannot see it
            ids[i, : len(row) - 1], targets[i, : len(row) - 1] = row[:-1], row[1:]
        ids, targets = ids.to(device), targets.to(device)
        if hasattr(self.model, "target_log_probs"):
            log_probs = self.model.target_log_probs(ids, targets.where(targets != IGNORE, 0))
        elif hasattr(self.model, "forward_from") and self.context_length is None:
            log_probs, state = [], None
            for piece, wanted in zip(ids.split(_PIECE, 1), targets.split(_PIECE, 1), strict=True):
                logits, _, state = self.model.forward_from(state, piece)
                log_probs.append(_of_targets(logits, wanted))
            log_probs = torch.cat(log_probs, dim=1)
        else:
            log_probs = _of_targets(self.model(ids)[0], targets)
        return log_probs.cpu().double()  # Apple's GPU has no float64


def _of_targets(
    logits: Float[Tensor, "B T V"], targets: Int[Tensor, "B T"]
) -> Float[Tensor, "B T"]:
    """Return each target's log-probability, in float32 at least.

    Row by row: log-probabilities of all tokens at once would take the memory of the logits again.
    """
    wide = torch.promote_types(logits.dtype, torch.float32)
    chosen = targets.where(targets != IGNORE, 0).unsqueeze(-1)
    rows = zip(logits, chosen, strict=True)
    return torch.stack([s.to(wide).log_softmax(-1).gather(-1, c).squeeze(-1) for s, c in rows])


def _check_log_probs(log_probs: Tensor) -> None:
    """Refuse what is no log-probability; a rounding error above zero is let through."""
    wrong = log_probs[~(log_probs <= 1e-5)]
    if len(wrong):
        raise ValueError(f"a log-probability is {wrong[0].item()}; it must be at most 0")


def _exp(nats: float) -> float:
    return math.exp(nats) if nats < 709 else math.inf  # math.exp raises where floats end


@dataclass(frozen=True)
class Interval:
    """A difference and where it may lie: `low` to `high` at the given confidence."""

    difference: float
    low: float
    high: float
    confidence: float


def paired_bootstrap(
    first: Sequence[float | int],
    second: Sequence[float | int],
    *,
    weights: Sequence[float | int] | None = None,
    n_samples: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
) -> Interval:
    """Say how sure the difference `first - second` is, both measured on the same test items.

    Items are drawn with replacement, the same for both systems, and the difference of the means is
    taken each time; the interval holds the middle of those differences (Koehn 2004, section 3).

    Args:
        first: one number an item (1 or 0 for right or wrong; nats of a document).
        second: the same items by the other system.
        weights: what to divide by, one an item (tokens of a document); default: one each.
        n_samples: number of samples.
        confidence: share of the differences inside the interval.
        seed: of the samples.

    Raises:
        ValueError: no items, lists of different lengths, numbers that are not finite, weights that
            are not positive, or a confidence outside (0, 1).
    """
    whole_numbers(n_samples=n_samples)
    whole_numbers(at_least=0, seed=seed)
    if len(first) == 0 or len(first) != len(second):
        raise ValueError(f"first has {len(first)} items and second {len(second)}; pair them")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence is {confidence}; it must lie between 0 and 1")
    size = np.ones(len(first)) if weights is None else np.asarray(weights, dtype=float)
    if len(size) != len(first):
        raise ValueError(f"weights has {len(size)} items; there are {len(first)} to weigh")
    gap = np.asarray(first, dtype=float) - np.asarray(second, dtype=float)
    if not np.isfinite(gap).all():
        place = int(np.flatnonzero(~np.isfinite(gap))[0])
        raise ValueError(
            f"item {place} is {first[place]} and {second[place]}; both must be finite numbers"
        )
    if not (np.isfinite(size) & (size > 0)).all():
        raise ValueError(f"weights has {size.min()}; each must be positive and finite")
    rng = np.random.default_rng(seed)
    differences = np.empty(n_samples)
    for sample in range(n_samples):  # one sample at a time: memory for one, whatever the test size
        drawn = rng.integers(len(gap), size=len(gap))
        differences[sample] = gap[drawn].sum() / size[drawn].sum()
    low, high = np.quantile(differences, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Interval(float(gap.sum() / size.sum()), float(low), float(high), confidence)
