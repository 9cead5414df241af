"""Ids to batches for models that are pretrained on corrupted text: BERT's family and T5.

All read windows of one long stream, as RoBERTa's "full sentences" do (Liu et al. 2019, section
4.2), and corrupt each window anew in every epoch. Chapters: bert, encoder-decoders.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from jaxtyping import Int, Integer
from torch import Tensor

from course_pkg.common.checks import lists_of_ids, probabilities, whole_numbers
from course_pkg.text.batches.batching import (
    IGNORE,
    Batch,
    Batches,
    require_stream,
    translation_rows,
)
from course_pkg.text.batches.masking import (
    check_shares,
    check_spans,
    check_special_ids,
    choose_spans,
    choose_tokens,
    mask_tokens,
    may_mask,
    random_spans,
    spans_to_sentinels,
)
from course_pkg.text.batches.token_files import TokenFile

CLS, SEP, MASK = "[CLS]", "[SEP]", "[MASK]"
BERT_TOKENS = (CLS, SEP, MASK)
"""Special tokens that a tokenizer needs for `masked_batches`."""


def sentinel_tokens(n: int) -> tuple[str, ...]:
    """Return the names of `n` sentinels, as T5 numbers them.

    Example:
        >>> sentinel_tokens(2)
        ('<extra_0>', '<extra_1>')
    """
    whole_numbers(at_least=0, n=n)
    return tuple(f"<extra_{i}>" for i in range(n))


def masked_batches(
    ids: Integer[Tensor, " N"] | TokenFile,
    context_length: int,
    batch_size: int,
    *,
    vocab_size: int,
    special_ids: dict[str, int],
    rate: float = 0.15,
    shares: tuple[float, float] = (0.8, 0.1),
    whole_spans: bool = False,
    seed: int,
    share: tuple[int, int] = (0, 1),
) -> Batches:
    """Make rows `[CLS] window [SEP]` for masked LM: Devlin et al. 2019.

    Args:
        context_length: of a row, both special tokens included.
        vocab_size: ids that may be put in at random are below it.
        special_ids: of a tokenizer that has `BERT_TOKENS`; none of them is ever masked.
        rate: share of the tokens that are to be predicted.
        shares: of these, the share that is masked and the share replaced at random.
        whole_spans: choose and mask whole spans, as SpanBERT does, instead of tokens one by one.

    Raises:
        ValueError: if the windows would be empty, or a special token is missing.
    """
    probabilities(rate=rate)
    check_shares(shares)
    _check_bert_tokens(special_ids)
    check_special_ids(special_ids.values(), vocab_size)
    choose = choose_spans if whole_spans else choose_tokens

    def corrupt(rows: Int[Tensor, "B T"], generator: torch.Generator) -> Batch:
        specials = sorted(special_ids.values())
        seen, targets = mask_tokens(
            rows,
            choose(may_mask(rows, specials), rate, generator),
            vocab_size=vocab_size,
            mask_id=special_ids[MASK],
            special_ids=specials,
            generator=generator,
            shares=shares,
            whole_spans=whole_spans,
        )
        return {"ids": seen, "targets": targets}

    settings = {"batches": "masked_batches", "rate": rate, "vocab_size": vocab_size}
    settings |= {"shares": list(shares), "whole_spans": whole_spans}
    return _framed_windows(
        ids, context_length, batch_size, special_ids, corrupt, seed, share, settings
    )


def permuted_batches(
    ids: Integer[Tensor, " N"] | TokenFile,
    context_length: int,
    batch_size: int,
    *,
    special_ids: dict[str, int],
    rate: float = 1 / 6,
    seed: int,
    share: tuple[int, int] = (0, 1),
) -> Batches:
    """Make rows `[CLS] window [SEP]` with an order for permutation LM: Yang et al. 2019.

    Nothing is masked. Special tokens come first in the order, the others at random.

    Args:
        context_length: as for `masked_batches`, as is `special_ids`.
        rate: share of the tokens, the last in the order, that are to be predicted.

    Raises:
        ValueError: if the windows would be empty, a special token is missing, or the rate is no
            share.
    """
    probabilities(rate=rate)
    _check_bert_tokens(special_ids)

    def corrupt(rows: Int[Tensor, "B T"], generator: torch.Generator) -> Batch:
        draws = torch.rand(rows.shape, generator=generator)
        is_ordinary = may_mask(rows, sorted(special_ids.values()))
        ranks = draws.masked_fill(~is_ordinary, -1.0).argsort(dim=1).argsort(dim=1)
        n_known = rows.shape[1] - (rate * is_ordinary.sum(dim=1, keepdim=True)).round()
        return {"ids": rows, "ranks": ranks, "targets": rows.where(ranks >= n_known, IGNORE)}

    settings = {"batches": "permuted_batches", "rate": rate}
    return _framed_windows(
        ids, context_length, batch_size, special_ids, corrupt, seed, share, settings
    )


def span_batches(
    ids: Integer[Tensor, " N"] | TokenFile,
    context_length: int,
    batch_size: int,
    *,
    sentinel_ids: Sequence[int],
    eos_id: int,
    seed: int,
    share: tuple[int, int] = (0, 1),
) -> Batches:
    """Make windows for span corruption: masked spans become sentinels. Raffel et al. 2020.

    Args:
        context_length: of a window before its spans shrink.
        sentinel_ids: enough for the spans of one window and the end: `n_sentinels`.
        eos_id: begins the decoder's input and ends its targets.
    """
    lists_of_ids(sentinel_ids=sentinel_ids)
    whole_numbers(at_least=0, eos_id=eos_id)
    whole_numbers(context_length=context_length)

    def corrupt(windows: Int[Tensor, "B T"], generator: torch.Generator) -> Batch:
        pairs = [
            spans_to_sentinels(row, random_spans(len(row), generator), sentinel_ids)
            for row in windows.tolist()
        ]
        return translation_rows(pairs, eos_id)

    settings = {"batches": "span_batches", "sentinel_ids": list(sentinel_ids)}
    return _windows(ids, context_length, batch_size, corrupt, seed, share, settings)


def n_sentinels(context_length: int, *, rate: float = 0.15, mean_length: float = 3.0) -> int:
    """Return how many sentinels a window needs: one for each span, and one for the end.

    Example:
        >>> n_sentinels(64)
        4
    """
    whole_numbers(at_least=2, context_length=context_length)
    check_spans(rate, mean_length)
    n_hidden = min(max(round(context_length * rate), 1), context_length - 1)
    return max(round(n_hidden / mean_length), 1) + 1


def _check_bert_tokens(special_ids: dict[str, int]) -> None:
    if not isinstance(special_ids, Mapping):
        raise ValueError(
            f"special_ids is {type(special_ids).__name__}; it must map tokens to ids, as a "
            "tokenizer's special_ids does"
        )
    missing = [token for token in BERT_TOKENS if token not in special_ids]
    if missing:
        raise ValueError(f"special_ids lacks {missing[0]!r}; train the tokenizer with BERT_TOKENS")
    lists_of_ids(special_ids=special_ids)


def _framed_windows(
    ids: Integer[Tensor, " N"] | TokenFile,
    context_length: int,
    batch_size: int,
    special_ids: dict[str, int],
    corrupt: Callable[[Tensor, torch.Generator], Batch],
    seed: int,
    share: tuple[int, int],
    settings: dict[str, Any],
) -> Batches:
    """Put [CLS] before each window and [SEP] after it, `context_length` tokens in all."""
    whole_numbers(context_length=context_length)

    def frame(windows: Int[Tensor, "B T"], generator: torch.Generator) -> Batch:
        edge = torch.ones(len(windows), 1, dtype=torch.int64)
        rows = torch.cat([edge * special_ids[CLS], windows, edge * special_ids[SEP]], dim=1)
        return corrupt(rows, generator)

    settings |= {"special_ids": special_ids}
    return _windows(ids, context_length - 2, batch_size, frame, seed, share, settings)


def _windows(
    ids: Integer[Tensor, " N"] | TokenFile,
    length: int,
    batch_size: int,
    corrupt: Callable[[Tensor, torch.Generator], Batch],
    seed: int,
    share: tuple[int, int],
    settings: dict[str, Any],
) -> Batches:
    """Shuffle the windows of a stream; the last one begins earlier, to be as long as the others."""
    require_stream(ids)
    whole_numbers(batch_size=batch_size)
    if length < 2:
        raise ValueError(f"a window would have {length} tokens; raise context_length")
    if len(ids) < length:
        raise ValueError(f"ids has {len(ids)} tokens; a window takes {length}")
    n_windows = -(-len(ids) // length)

    def plan(generator: torch.Generator) -> Sequence[Tensor]:
        return torch.randperm(n_windows, generator=generator).split(int(batch_size))

    def collate(windows: Tensor, generator: torch.Generator) -> Batch:
        starts = (windows * length).clamp(max=len(ids) - length)
        return corrupt(ids[starts.unsqueeze(1) + torch.arange(length)].long(), generator)

    settings |= {"window": length, "batch_size": batch_size}
    return Batches(plan, collate, seed=seed, share=share, settings=settings, content=ids)
