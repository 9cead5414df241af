"""BART's noises: ways to damage a text, which the model then has to write as it was.

Unlike masking for BERT they may change the length of a text or its order, so only a model that
writes can undo them. Chapter: encoder-decoders. Lewis et al. 2020, section 2.2.
"""

import math
from collections.abc import Sequence

import torch

from course_pkg.common.checks import (
    document_of_ids,
    lists_of_ids,
    probabilities,
    real_number,
    whole_numbers,
)


def delete_tokens(ids: Sequence[int], rate: float, generator: torch.Generator) -> list[int]:
    """Leave out each token with probability `rate`; nothing says where.

    Raises:
        ValueError: if the rate is no probability.
    """
    document_of_ids(ids, "ids")
    probabilities(rate=rate)
    draws = torch.rand(len(ids), generator=generator).tolist()
    return [token for token, draw in zip(ids, draws, strict=True) if draw >= rate]


def infill_spans(
    ids: Sequence[int],
    rate: float,
    mask_id: int,
    generator: torch.Generator,
    *,
    mean_length: float = 3.0,
) -> list[int]:
    """Hide about `rate` of the tokens in spans, each behind one mask, however long it is.

    Lengths are Poisson draws, so some spans are empty: a mask where nothing is missing. The last
    span is cut short to meet the total. Every order of kept tokens and spans is equally probable.

    Args:
        rate: share of the tokens that are hidden; 0.3 in BART.

    Raises:
        ValueError: if the rate is no share, or the mean length is not positive.
    """
    document_of_ids(ids, "ids")
    probabilities(rate=rate)
    whole_numbers(at_least=0, mask_id=mask_id)
    if not 0 < real_number("mean_length", mean_length) < math.inf:
        raise ValueError(f"mean_length is {mean_length}; it must be positive and finite")
    n_hidden = round(rate * len(ids))
    lengths: list[int] = []
    while sum(lengths) < n_hidden:
        length = int(torch.poisson(torch.tensor(float(mean_length)), generator=generator))
        lengths.append(min(length, n_hidden - sum(lengths)))
    order = torch.randperm(len(ids) - n_hidden + len(lengths), generator=generator).tolist()
    noised: list[int] = []
    place = 0
    for item in order:  # the items below len(lengths) are spans, the others kept tokens
        noised.append(mask_id if item < len(lengths) else ids[place])
        place += lengths[item] if item < len(lengths) else 1
    return noised


def permute_sentences(
    ids: Sequence[int], end_ids: Sequence[int], generator: torch.Generator
) -> list[int]:
    """Put the sentences of a text into a random order.

    Args:
        end_ids: of the tokens that end a sentence; what follows the last one counts as a sentence.

    Example:
        >>> permute_sentences([5, 6, 0, 7, 0], [0], torch.Generator().manual_seed(1))
        [7, 0, 5, 6, 0]
    """
    document_of_ids(ids, "ids")
    lists_of_ids(end_ids=end_ids)
    sentences: list[list[int]] = [[]]
    for token in ids:
        sentences[-1].append(token)
        if token in end_ids:
            sentences.append([])
    sentences = [sentence for sentence in sentences if sentence]
    order = torch.randperm(len(sentences), generator=generator).tolist()
    return [token for place in order for token in sentences[place]]


def rotate(ids: Sequence[int], generator: torch.Generator) -> list[int]:
    """Begin a text at any of its tokens; what stood before that token comes last.

    Raises:
        ValueError: if there is no token to begin with.
    """
    document_of_ids(ids, "ids")
    if len(ids) == 0:
        raise ValueError("ids is empty; there is no token to begin with")
    start = int(torch.randint(len(ids), (), generator=generator))
    return [*ids[start:], *ids[:start]]
