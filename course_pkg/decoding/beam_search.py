"""Write a text: greedily, by draws, or by beam search, along several candidates at once.

Taking the best token at each step need not lead to the best text. A beam keeps the few best
beginnings instead of one. Sums of log probabilities favour short texts, so finished ones are
compared by a score that makes up for length.
Chapter: sequence-to-sequence. Graves 2012; Sutskever et al. 2014; Wu et al. 2016, section 7.
"""

import math
import operator
from dataclasses import dataclass
from typing import Protocol, Unpack, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from course_pkg.common.checks import check_id, real_number, whole_numbers
from course_pkg.decoding.samplers import Knobs, choose
from course_pkg.models import LanguageModel


@runtime_checkable
class Continuation(Protocol):
    """Texts in progress, one per row, which a search extends and rearranges."""

    def advance(self, ids: Int[Tensor, " N"]) -> tuple[Float[Tensor, "N V"], "Continuation"]:
        """Append one id to each row; return log probabilities of the next, and the longer texts."""
        ...

    def select(self, rows: Int[Tensor, " M"]) -> "Continuation":
        """Return the texts of the given rows, in that order; a row may come more than once."""
        ...


@dataclass(frozen=True)
class TextContinuation:
    """Any language model's texts in progress: each step reads the whole text again.

    Args:
        model: in evaluation mode, if it has one: dropout would show the search another model.
        ids: the texts so far, without the token that the search appends first; may be empty.
    """

    model: LanguageModel
    ids: Int[Tensor, "N T"]

    def __post_init__(self) -> None:
        if not isinstance(self.ids, Tensor) or self.ids.dim() != 2:
            shape = f" of shape {tuple(self.ids.shape)}" if isinstance(self.ids, Tensor) else ""
            raise ValueError(
                f"ids is {type(self.ids).__name__}{shape}; it must be a tensor, (texts, positions)"
            )
        if isinstance(self.model, nn.Module) and self.model.training:
            raise ValueError("training is True; call the model's eval() before a search")

    def advance(self, ids: Int[Tensor, " N"]) -> tuple[Float[Tensor, "N V"], "TextContinuation"]:
        """Append one id to each row; return log probabilities of the next, and the longer texts."""
        longer = torch.cat([self.ids, ids.unsqueeze(1)], dim=1)
        seen = longer[:, -(self.model.context_length or longer.shape[1]) :]
        return self.model.next_log_probs(seen), TextContinuation(self.model, longer)

    def select(self, rows: Int[Tensor, " M"]) -> "TextContinuation":
        """Return the texts of the given rows, in that order."""
        return TextContinuation(self.model, self.ids[rows])


@dataclass(frozen=True, order=True)
class Hypothesis:
    """One text that a search found; hypotheses compare by score.

    Args:
        score: log_prob divided by the length penalty.
        log_prob: of all `ids` given what came before, in nats.
        ids: what was generated, with the final eos unless the length ran out.
    """

    score: float
    log_prob: float
    ids: tuple[int, ...]


def length_penalty(length: int, alpha: float) -> float:
    """((5 + length) / 6)^alpha: Wu et al. 2016, eq. 14. With alpha 0 it is 1, with 1 linear."""
    return ((5 + length) / 6) ** alpha


def greedy_search(
    start: Continuation, first_ids: Int[Tensor, " B"], *, eos_id: int | None, max_length: int
) -> list[Hypothesis]:
    """Append the most probable token to each row until it is eos.

    Args:
        start: texts to go on from.
        first_ids: appended before the first prediction: eos for a blank text, else its last token.
        eos_id: ends a text; None lets every text run to the full length.
        max_length: number of generated tokens, eos included, after which a row ends anyhow.
    """
    return sample_texts(start, first_ids, eos_id=eos_id, max_length=max_length, temperature=0)


@torch.no_grad()
def sample_texts(
    start: Continuation,
    first_ids: Int[Tensor, " B"],
    *,
    eos_id: int | None,
    max_length: int,
    generator: torch.Generator | None = None,
    **knobs: Unpack[Knobs],
) -> list[Hypothesis]:
    """Append a drawn token to each row until it is eos: `generate` for models that read a source.

    For several texts of one source, `start.select` its row as often.

    Args:
        start: texts to go on from.
        first_ids: appended before the first prediction: eos for a blank text, else its last token.
        eos_id: ends a text; None lets every text run to the full length.
        max_length: number of generated tokens, eos included, after which a row ends anyhow.
        generator: source of randomness, on the device of the model's output.
        knobs: those of `samplers.Sampling`.

    Returns:
        for each row a hypothesis; its log_prob is the model's own, whatever the temperature.
    """
    _check_search(start, first_ids, max_length)
    texts, ids = start, first_ids
    log_prob = torch.zeros(len(first_ids), dtype=torch.float64)
    is_done = torch.zeros(len(first_ids), dtype=torch.bool)
    generated: list[list[int]] = [[] for _ in first_ids]
    for _ in range(max_length):
        log_probs, texts = texts.advance(ids)
        end = _end(eos_id, log_probs)
        ids = choose(log_probs, generator=generator, **knobs)
        chosen = log_probs.gather(-1, ids.unsqueeze(-1)).squeeze(-1)
        log_prob += chosen.cpu().double().masked_fill(is_done, 0.0)
        said = ids.cpu()  # one copy a step, not one for each row
        for row in (~is_done).nonzero().flatten().tolist():
            generated[row].append(int(said[row]))
        is_done |= said == end
        if is_done.all():
            break
    return [
        Hypothesis(total, total, tuple(row))
        for total, row in zip(log_prob.tolist(), generated, strict=True)
    ]


@torch.no_grad()
def beam_search(
    start: Continuation,
    first_ids: Int[Tensor, " B"],
    *,
    n_beams: int,
    eos_id: int | None,
    max_length: int,
    alpha: float = 0.0,
) -> list[list[Hypothesis]]:
    """Keep the `n_beams` most probable beginnings of each row until the best texts are complete.

    At each step every unfinished beginning is continued by every token, and the `n_beams` best of
    all these are kept. Those of them that end in eos are complete: they join the results and are
    not continued. Their places stay empty for that step alone; at the next, what is left of the
    beam fills all `n_beams` again. (Where a complete text gave up its place for good, the beam
    would shrink, as in the first neural translators; where the next best took it at once, as in
    fairseq and transformers, one beam would go on after eos.) So one beam is greedy search, and as
    many beams as there are texts is exhaustive search. The search stops early only when no
    unfinished beginning can still enter the result.

    Args:
        start: texts to go on from.
        first_ids: appended before the first prediction: eos for a blank text, else its last token.
        eos_id: ends a text; None lets every text run to the full length.
        max_length: number of generated tokens, eos included; longer texts are cut there and rank
            among the complete ones.
        alpha: strength of the length penalty, at least 0; 0 ranks by log probability.

    Returns:
        for each row at most `n_beams` hypotheses, the best score first.
    """
    _check_search(start, first_ids, max_length)
    whole_numbers(n_beams=n_beams)
    n_beams, max_length = operator.index(n_beams), operator.index(max_length)
    alpha = real_number("alpha", alpha)
    if not 0 <= alpha < math.inf:
        raise ValueError(f"alpha is {alpha}; it must be at least 0, and finite")
    B, device = len(first_ids), first_ids.device
    rows = torch.arange(B, device=device).repeat_interleave(n_beams)
    texts, ids = start.select(rows), first_ids[rows]
    # All beams of a row begin as the same text: only the first may branch.
    live = torch.full((B, n_beams), -torch.inf, device=device)
    live[:, 0] = 0.0
    generated = torch.empty(B * n_beams, 0, dtype=torch.int64, device=device)
    finished: list[list[Hypothesis]] = [[] for _ in range(B)]
    for length in range(1, max_length + 1):
        log_probs, texts = texts.advance(ids)
        candidates = live.unsqueeze(-1) + log_probs.unflatten(0, (B, n_beams))  # (B, n_beams, V)
        V, end = log_probs.shape[-1], _end(eos_id, log_probs)
        live, chosen = candidates.flatten(1).topk(n_beams, dim=-1)
        ids = (chosen % V).flatten()
        parents = chosen // V + n_beams * torch.arange(B, device=device).unsqueeze(-1)
        texts = texts.select(parents.flatten())
        generated = torch.cat([generated[parents.flatten()], ids.unsqueeze(-1)], dim=-1)
        is_over = (ids == end).view(B, n_beams) | (length == max_length)
        over = (is_over & live.isfinite()).flatten().nonzero().flatten()
        found = (over, live.flatten()[over], generated[over])  # read at once, not one by one
        for place, log_prob, text in zip(*(part.tolist() for part in found), strict=True):
            score = log_prob / length_penalty(length, alpha)
            finished[place // n_beams].append(Hypothesis(score, log_prob, tuple(text)))
        live = live.masked_fill(is_over, -torch.inf)
        finished = [sorted(best, reverse=True)[:n_beams] for best in finished]
        # From here log_prob only falls, and no penalty is larger than that of the full length.
        bounds = (live.amax(dim=-1) / length_penalty(max_length, alpha)).tolist()
        for row, (best, bound) in enumerate(zip(finished, bounds, strict=True)):
            if len(best) == n_beams and best[-1].score >= bound:
                live[row] = -torch.inf
        if not live.isfinite().any():
            break
    return finished


def _end(eos_id: int | None, log_probs: Tensor) -> int:
    """The id that ends a text; where nothing does, one that no token has."""
    if eos_id is None:
        return -1
    check_id("eos_id", eos_id, log_probs.shape[-1])
    return eos_id


def _check_search(start: Continuation, first_ids: Tensor, max_length: int) -> None:
    if not hasattr(start, "advance"):
        raise ValueError(
            f"start is {type(start).__name__}; it must be texts to go on from, such as what a "
            "model's start() returns"
        )
    if not isinstance(first_ids, Tensor) or first_ids.dim() != 1 or len(first_ids) == 0:
        shape = f" of shape {tuple(first_ids.shape)}" if isinstance(first_ids, Tensor) else ""
        raise ValueError(
            f"first_ids is {type(first_ids).__name__}{shape}; it must be a tensor with one id for "
            "each text"
        )
    whole_numbers(max_length=max_length)
