"""Corrupted text and what to restore: masked LM, span corruption, next-sentence prediction.

A model that sees both sides of a word cannot be asked for the next one, so some words are masked.
First a rule chooses what to mask (tokens, whole words, spans); then either each chosen token is
replaced on its own (masked LM, BERT), or each chosen span shrinks to one sentinel (span corruption,
T5). Drawn anew for every batch, the same text is corrupted differently in each epoch: dynamic
masking, Liu et al. 2019.
Chapters: bert, encoder-decoders. Devlin et al. 2019; Joshi et al. 2020; Raffel et al. 2020.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from course_pkg.common.checks import lists_of_ids, probabilities, real_number, whole_numbers
from course_pkg.text.batches.batching import IGNORE
from course_pkg.text.batches.formatting import shorten


def choose_tokens(
    may_mask: Bool[Tensor, "B T"], rate: float, generator: torch.Generator
) -> Bool[Tensor, "B T"]:
    """Choose each token by itself with probability `rate`.

    Args:
        may_mask: False at special tokens and padding, which are never chosen.
    """
    probabilities(rate=rate)
    _require_mask(may_mask)
    return may_mask & (torch.rand(may_mask.shape, generator=generator) < rate)


def choose_words(
    may_mask: Bool[Tensor, "B T"],
    is_word_start: Bool[Tensor, "B T"],
    rate: float,
    generator: torch.Generator,
) -> Bool[Tensor, "B T"]:
    """Choose each word with probability `rate`, all of its tokens or none.

    A word's other pieces would give the masked one away: Cui et al. 2019.
    """
    probabilities(rate=rate)
    _require_mask(may_mask)
    # A token belongs to the last word that started; a draw for each word, looked up by its tokens.
    word = is_word_start.long().cumsum(dim=1)  # 0 before the first start
    draws = torch.rand((len(word), word.shape[1] + 1), generator=generator)
    return may_mask & (draws.gather(1, word) < rate)


def span_lengths(
    n_spans: int, generator: torch.Generator, *, p: float = 0.2, longest: int = 10
) -> Int[Tensor, " N"]:
    """Draw span lengths from a geometric distribution cut at `longest`, on average 3.8 tokens.

    P(length) is proportional to (1 - p)^(length - 1): Joshi et al. 2020, section 3.1.
    """
    if not 0 < p < 1:
        raise ValueError(f"p is {p}; it must be between 0 and 1")
    whole_numbers(at_least=0, n_spans=n_spans)
    whole_numbers(longest=longest)
    probs = (1 - p) ** torch.arange(longest, dtype=torch.float64)
    return 1 + torch.multinomial(probs, n_spans, replacement=True, generator=generator)


def choose_spans(
    may_mask: Bool[Tensor, "B T"],
    rate: float,
    generator: torch.Generator,
    *,
    p: float = 0.2,
    longest: int = 10,
) -> Bool[Tensor, "B T"]:
    """Choose spans, of geometric length, until `rate` of each row's tokens are chosen.

    A span contains no special token and overlaps no other; where the budget or the free places do
    not suffice it is shortened. Joshi et al. 2020, section 3.1.
    """
    probabilities(rate=rate)
    _require_mask(may_mask)
    chosen = torch.zeros_like(may_mask)
    for row, may_row in enumerate(may_mask):
        free = may_row.clone()
        budget = round(rate * int(free.sum()))
        while budget > 0:
            length = min(int(span_lengths(1, generator, p=p, longest=longest)), budget, len(free))
            # A place can start a span if the whole span is free.
            while not (starts := free.unfold(0, length, 1).all(dim=1).nonzero()).numel():
                length -= 1
            pick = torch.randint(len(starts), (), generator=generator)
            start = int(starts[pick])
            chosen[row, start : start + length] = True
            free[start : start + length] = False
            budget -= length
    return chosen


def _require_mask(mask: Tensor) -> None:
    if not isinstance(mask, Tensor):
        raise ValueError(f"may_mask is {type(mask).__name__}; it must be a tensor")
    if mask.dtype != torch.bool:
        raise ValueError(f"may_mask is {mask.dtype}; it must be bool, as may_mask() makes of ids")


def check_shares(shares: tuple[float, float]) -> None:
    """Refuse shares of masked and of random tokens that are none.

    Raises:
        ValueError: naming them.
    """
    if not isinstance(shares, tuple | list) or len(shares) != 2:
        raise ValueError(f"shares are {shares!r}; they must be two, of masks and of random tokens")
    probabilities(**{"shares[0]": shares[0], "shares[1]": shares[1]})
    if sum(shares) > 1:
        raise ValueError(f"shares are {shares}; together they must not exceed 1")


def check_special_ids(special_ids: Iterable[int], vocab_size: int) -> None:
    """Refuse special ids outside the vocabulary, or that are all of it.

    Raises:
        ValueError: naming the id.
    """
    whole_numbers(vocab_size=vocab_size)
    special_ids = list(special_ids)
    for number in special_ids:
        whole_numbers(at_least=0, special_id=number)
        if number >= vocab_size:
            raise ValueError(f"special id {number} is outside the vocabulary of {vocab_size}")
    if len(set(special_ids)) == vocab_size:
        raise ValueError(f"special_ids are all {vocab_size} tokens; one at least must be ordinary")


def check_spans(rate: float, mean_length: float) -> None:
    """Refuse spans that cannot be drawn.

    Raises:
        ValueError: naming the number.
    """
    probabilities(rate=rate)
    if not 1 <= real_number("mean_length", mean_length) < math.inf:
        raise ValueError(f"mean_length is {mean_length}; it must be at least 1 and finite")


def mask_tokens(
    ids: Int[Tensor, "B T"],
    chosen: Bool[Tensor, "B T"],
    *,
    vocab_size: int,
    mask_id: int,
    special_ids: Sequence[int],
    generator: torch.Generator,
    shares: tuple[float, float] = (0.8, 0.1),
    whole_spans: bool = False,
) -> tuple[Int[Tensor, "B T"], Int[Tensor, "B T"]]:
    """Corrupt the chosen tokens for masked LM: Devlin et al. 2019, appendix A.1.

    At 80 % of the chosen places the mask token stands, at 10 % a random ordinary token, at 10 % the
    token itself. A model that met only mask tokens would learn nothing about places without one,
    and there are none when it is used.

    Args:
        chosen: from one of the functions above.
        special_ids: never put in as random tokens, and neither is the mask.
        shares: of mask tokens and of random ones; the rest stays as it is.
        whole_spans: treat tokens that were chosen side by side alike: all masked, all random, or
            all kept (Joshi et al. 2020, section 3.1).

    Returns:
        ids: what the model sees.
        targets: the true token at chosen places, IGNORE elsewhere.
    """
    check_shares(shares)
    lists_of_ids(special_ids=special_ids)
    check_special_ids((mask_id, *special_ids), vocab_size)
    is_ordinary = torch.ones(vocab_size, dtype=torch.bool)
    is_ordinary[[*special_ids, mask_id]] = False
    ordinary = is_ordinary.nonzero().flatten()
    draws = torch.rand(ids.shape, generator=generator)
    if whole_spans:
        is_first = chosen.clone()
        is_first[:, 1:] &= ~chosen[:, :-1]
        draws = draws.gather(1, (is_first.cumsum(dim=1) - 1).clamp(min=0))  # one draw a span
    random_ids = ordinary[torch.randint(len(ordinary), ids.shape, generator=generator)]
    seen = ids.masked_fill(chosen & (draws < shares[0]), mask_id)
    is_random = chosen & (draws >= shares[0]) & (draws < sum(shares))
    return torch.where(is_random, random_ids, seen), ids.masked_fill(~chosen, IGNORE)


def may_mask(ids: Int[Tensor, "B T"], special_ids: Sequence[int]) -> Bool[Tensor, "B T"]:
    """Return True where an ordinary token stands; count padding among the special ids.

    Example:
        >>> may_mask(torch.tensor([[1, 7, 9, 0]]), special_ids=[0, 1]).tolist()
        [[False, True, True, False]]
    """
    lists_of_ids(special_ids=special_ids)
    return ~torch.isin(ids, torch.tensor(special_ids, dtype=ids.dtype))


@dataclass(frozen=True)
class SentencePair:
    """Two stretches of text; `is_next`: the second follows the first in its document."""

    first: Sequence[int]
    second: Sequence[int]
    is_next: bool


def next_sentence_pairs(
    documents: Sequence[Sequence[Sequence[int]]], generator: torch.Generator
) -> list[SentencePair]:
    """Make pairs for next-sentence prediction: half of them do not follow one another.

    A sentence is paired with its successor or with one of another document.
    Devlin et al. 2019, section 3.1. A document's last sentence has no successor and opens no pair.

    Args:
        documents: each a list of sentences, each a list of ids.

    Raises:
        ValueError: if fewer than two documents have a sentence.
    """
    documents = [document for document in documents if document]
    if len(documents) < 2:
        raise ValueError(f"documents has {len(documents)} with sentences; there must be at least 2")
    pairs = []
    for place, document in enumerate(documents):
        for first, second in pairwise(document):
            is_next = bool(torch.rand((), generator=generator) < 0.5)
            if not is_next:
                # Any other document, each equally often: a step of 1 .. n - 1 around the circle.
                step = 1 + int(torch.randint(len(documents) - 1, (), generator=generator))
                other = documents[(place + step) % len(documents)]
                second = other[int(torch.randint(len(other), (), generator=generator))]
            pairs.append(SentencePair(first, second, is_next))
    return pairs


def join_pair(
    pair: SentencePair, *, cls_id: int, sep_id: int, longest: int
) -> tuple[list[int], list[int]]:
    """Return the ids `[CLS] first [SEP] second [SEP]` and their segments, 0 and 1.

    Args:
        longest: length of the result; what is too much is cut from the end of the longer sentence,
            token by token.

    Example:
        >>> join_pair(SentencePair([7, 8], [9], True), cls_id=1, sep_id=2, longest=9)
        ([1, 7, 8, 2, 9, 2], [0, 0, 0, 0, 1, 1])
    """
    whole_numbers(at_least=0, cls_id=cls_id, sep_id=sep_id)
    whole_numbers(at_least=3, longest=longest)  # [CLS] and two [SEP]
    first, second = shorten([pair.first, pair.second], longest - 3)
    ids = [cls_id, *first, sep_id, *second, sep_id]
    return ids, [0] * (len(first) + 2) + [1] * (len(second) + 1)


def random_spans(
    n_tokens: int, generator: torch.Generator, *, rate: float = 0.15, mean_length: float = 3.0
) -> Bool[Tensor, " T"]:
    """Choose about `rate` of the tokens in spans of `mean_length` on average.

    Kept and hidden stretches alternate, none empty, the first one kept: as in Raffel et al. 2020,
    section 3.1.4, every division of the two totals into stretches is equally probable.
    """
    whole_numbers(at_least=2, n_tokens=n_tokens)  # one is kept and one hidden
    check_spans(rate, mean_length)
    n_hidden = min(max(round(n_tokens * rate), 1), n_tokens - 1)
    n_spans = min(max(round(n_hidden / mean_length), 1), n_tokens - n_hidden)
    kept = _divide(n_tokens - n_hidden, n_spans, generator)
    hidden = _divide(n_hidden, n_spans, generator)
    stretches = torch.stack([kept, hidden], dim=1).flatten()
    return torch.tensor([False, True]).repeat(n_spans).repeat_interleave(stretches)


def _divide(total: int, n_parts: int, generator: torch.Generator) -> Int[Tensor, " N"]:
    """Cut `total` into parts of at least 1, all divisions equally probable."""
    cuts = 1 + torch.randperm(total - 1, generator=generator)[: n_parts - 1].sort().values
    ends = torch.cat([torch.tensor([0]), cuts, torch.tensor([total])])
    return ends.diff()


def spans_to_sentinels(
    ids: Sequence[int], hidden: Bool[Tensor, " T"], sentinel_ids: Sequence[int]
) -> tuple[list[int], list[int]]:
    """Replace each hidden span by a sentinel, and collect what was hidden: Raffel et al. 2020.

    Sentinel k stands for span k in both results. The targets end with one more sentinel, which
    says that no span follows.

    Example:
        >>> spans_to_sentinels([4, 5, 6, 7], torch.tensor([False, True, True, False]), [90, 91])
        ([4, 90, 7], [90, 5, 6, 91])

    Returns:
        inputs: `Thank you <0> me to your party <1> week`
        targets: `<0> for inviting <1> last <2>`

    Raises:
        ValueError: if sentinels are too few, repeated, or occur in the text.
    """
    _require_sentinels(ids, sentinel_ids)
    inputs: list[int] = []
    targets: list[int] = []
    n_spans = 0
    was_hidden = False
    for token, is_hidden in zip(ids, hidden.tolist(), strict=True):
        if is_hidden and not was_hidden:
            if n_spans + 1 >= len(sentinel_ids):
                raise ValueError(
                    f"sentinel_ids has {len(sentinel_ids)} ids; the spans and the end need more"
                )
            inputs.append(sentinel_ids[n_spans])
            targets.append(sentinel_ids[n_spans])
            n_spans += 1
        (targets if is_hidden else inputs).append(token)
        was_hidden = is_hidden
    return inputs, [*targets, sentinel_ids[n_spans]]


def fill_sentinels(
    inputs: Sequence[int], targets: Sequence[int], sentinel_ids: Sequence[int]
) -> list[int]:
    """Put the spans of `targets` back in place of the sentinels: undo `spans_to_sentinels`.

    A sentinel without a span, as a model may leave one out, is filled with nothing.

    Example:
        >>> fill_sentinels([4, 90, 7], [90, 5, 6, 91], [90, 91])
        [4, 5, 6, 7]
    """
    lists_of_ids(sentinel_ids=sentinel_ids)
    spans: dict[int, list[int]] = {}
    span: list[int] = []
    for token in targets:
        if token in sentinel_ids:
            span = spans.setdefault(token, [])
        else:
            span.append(token)
    filled: list[int] = []
    for token in inputs:
        filled.extend(spans.get(token, []) if token in sentinel_ids else [token])
    return filled


def _require_sentinels(ids: Sequence[int], sentinel_ids: Sequence[int]) -> None:
    lists_of_ids(sentinel_ids=sentinel_ids)
    if not sentinel_ids or len(set(sentinel_ids)) != len(sentinel_ids):
        raise ValueError(f"sentinel_ids are {list(sentinel_ids)}; they must differ")
    clash = set(ids) & set(sentinel_ids)
    if clash:
        raise ValueError(f"id {min(clash)} occurs in the text; it must not be a sentinel")
