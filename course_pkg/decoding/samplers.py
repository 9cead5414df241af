"""Choose the next token from a model's distribution: greedily, or by a draw.

Greedy choice is always the likeliest token; sampling draws, after temperature has sharpened or
flattened the distribution and top-k, top-p or min-p has cut off its unlikely tail.
Chapters: n-gram models, GPT. Fan, Lewis & Dauphin 2018 (top-k); Holtzman et al. 2020 (top-p,
"nucleus"); Nguyen et al. 2025 (min-p).
"""

import math
import operator
from dataclasses import dataclass, replace
from typing import TypedDict, Unpack

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from course_pkg.common.checks import real_number, whole_numbers

_COLDEST = 1e-30
"""Below it float32 has no room for what scores divided by a temperature come to."""


class Knobs(TypedDict, total=False):
    """The arguments of `Sampling`, where a function hands them on."""

    temperature: float | int
    top_k: int | None
    top_p: float | int | None
    min_p: float | int | None


@dataclass(frozen=True)
class Sampling:
    """How a next token is chosen: temperature first, then what is cut off.

    Attributes:
        temperature: divides the log-probabilities: below 1 sharpens, above 1 flattens; 0 takes the
            likeliest token.
        top_k: see `top_k_mask`; None keeps every token, as it does for the other two cuts.
        top_p: see `top_p_mask`.
        min_p: see `min_p_mask`.
    """

    temperature: float | int = 1.0
    top_k: int | None = None
    top_p: float | int | None = None
    min_p: float | int | None = None

    def probs(self, log_probs: Float[Tensor, "B V"]) -> Float[Tensor, "B V"]:
        """Return the distribution that is drawn from.

        Raises:
            ValueError: if a number is out of its range; a temperature of 0 is no distribution.
        """
        heat = real_number("temperature", self.temperature)
        if not 0 < heat < math.inf:
            raise ValueError(
                f"temperature is {self.temperature!r}; it must be a positive number here, 0 is "
                "greedy"
            )
        # Before the cut: a flatter distribution has a larger nucleus.
        scores = _wide(log_probs)
        if heat < _COLDEST:  # the limit: a draw among the likeliest
            scores = scores.masked_fill(scores < scores.amax(dim=-1, keepdim=True), -torch.inf)
        else:
            scores = scores / heat
        if self.top_k is not None:
            scores = scores.masked_fill(~top_k_mask(scores, self.top_k), -torch.inf)
        if self.top_p is not None:
            scores = scores.masked_fill(~top_p_mask(scores, self.top_p), -torch.inf)
        if self.min_p is not None:
            scores = scores.masked_fill(~min_p_mask(scores, self.min_p), -torch.inf)
        return scores.softmax(dim=-1)

    def choose(
        self, log_probs: Float[Tensor, "B V"], generator: torch.Generator | None = None
    ) -> Int[Tensor, " B"]:
        """Choose without looking at what is in `log_probs`, for which a CPU would have to wait."""
        is_greedy = real_number("temperature", self.temperature) == 0
        # Computed when greedy too, for its checks; no cut removes the likeliest token.
        probs = (replace(self, temperature=1.0) if is_greedy else self).probs(log_probs)
        if is_greedy:
            return log_probs.argmax(dim=-1)
        return torch.multinomial(probs, num_samples=1, generator=generator)[:, 0]


def choose(
    log_probs: Float[Tensor, "B V"],
    *,
    generator: torch.Generator | None = None,
    **knobs: Unpack[Knobs],
) -> Int[Tensor, " B"]:
    """Choose one token per row as a `Sampling` of these knobs does.

    Raises:
        ValueError: if a number is out of its range, or no token is possible.
    """
    check_some_token_is_possible(log_probs)
    return Sampling(**knobs).choose(log_probs, generator)


def next_token_probs(
    log_probs: Float[Tensor, "B V"],
    *,
    temperature: float | int = 1.0,
    top_k: int | None = None,
    top_p: float | int | None = None,
    min_p: float | int | None = None,
) -> Float[Tensor, "B V"]:
    """Return the distribution that is sampled from: temperature, then top-k, top-p and min-p.

    Args:
        log_probs: or logits, which differ by a constant per row.
        temperature: positive and finite; this and all that follow as in `Sampling`.

    Returns:
        Probabilities; each row sums to one.

    Raises:
        ValueError: if a number is out of its range, or no token is possible.
    """
    check_some_token_is_possible(log_probs)
    return Sampling(temperature, top_k, top_p, min_p).probs(log_probs)


def top_k_mask(scores: Float[Tensor, "B V"], k: int) -> Bool[Tensor, "B V"]:
    """Return True for the `k` highest scores of each row and for those equal to the lowest of them.

    A `k` above V keeps everything.
    """
    whole_numbers(top_k=k)
    kth = scores.topk(min(operator.index(k), scores.shape[-1]), dim=-1).values[:, -1:]
    return scores >= kth


def top_p_mask(scores: Float[Tensor, "B V"], p: float | int) -> Bool[Tensor, "B V"]:
    """Nucleus sampling: True for the fewest likeliest tokens whose probabilities reach `p`.

    The likeliest token is always in it. The token that crosses `p` is the last one in; a `p` of 1
    keeps every token.
    """
    share = real_number("top_p", p)
    if not 0 < share <= 1:
        raise ValueError(f"top_p is {p}; it must be above 0 and at most 1")
    if share == 1:  # a sum rounds, and reaches 1 before the last token
        return torch.ones_like(scores, dtype=torch.bool)
    ordered, places = _wide(scores).softmax(dim=-1).sort(dim=-1, descending=True)
    # What the tokens before this one have in sum; so the first is kept whatever p is.
    before = ordered.cumsum(dim=-1) - ordered
    return torch.zeros_like(places, dtype=torch.bool).scatter(-1, places, before < share)


def min_p_mask(scores: Float[Tensor, "B V"], p: float | int) -> Bool[Tensor, "B V"]:
    """Return True for tokens with at least `p` times the probability of the likeliest one."""
    share = real_number("min_p", p)
    if not 0 <= share <= 1:
        raise ValueError(f"min_p is {p}; it must be at least 0 and at most 1")
    probs = _wide(scores).softmax(dim=-1)
    return probs >= share * probs.amax(dim=-1, keepdim=True)


def _wide(scores: Tensor) -> Tensor:
    """In float32 at least: 16 bits have too few digits for a sum of thousands of probabilities."""
    return scores.to(torch.promote_types(scores.dtype, torch.float32))


def check_some_token_is_possible(log_probs: Float[Tensor, "B V"]) -> None:
    """Refuse a distribution that gives nothing to draw; on a GPU that would have to be awaited.

    Raises:
        ValueError: naming the row.
    """
    if log_probs.device.type != "cpu":  # n-gram tables answer there; a GPU would have to be awaited
        return
    if bool(log_probs.isnan().any()):
        raise ValueError("a log-probability is nan; is a weight of the model nan or infinite?")
    impossible = (log_probs == -torch.inf).all(dim=-1)
    if bool(impossible.any()):
        row = int(impossible.nonzero()[0])
        raise ValueError(
            f"row {row} gives every token probability 0; "
            "an unsmoothed n-gram model does so after a history it never saw"
        )
