"""Language models, one file per idea, and the contract that every one of them keeps.

The book puts a bigram table and a GPT in the same table of results. That works because both
answer the same two questions: "how probable is this text?" and "what comes next?".
Models speak token ids, never strings: `course_pkg.text` turns one into the other.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

from jaxtyping import Float, Int
from torch import Tensor

IGNORE = -100
"""Target id of a position that is not predicted (padding, prompt): it adds nothing to the loss.
The value is torch's default `ignore_index`."""


@runtime_checkable
class LanguageModel(Protocol):
    """What a model must offer to be trained, evaluated, sampled from and compared in this course.

    Position `t` of `logits` scores the token that follows `ids[:, t]`; so `targets[:, t]` is
    usually `ids[:, t + 1]`. A model whose `context_length` is None reads a history of any length;
    otherwise callers pass at most that many ids.
    """

    vocab_size: int
    context_length: int | None

    def __call__(
        self, ids: Int[Tensor, "B T"], targets: Int[Tensor, "B T"] | None = None
    ) -> tuple[Float[Tensor, "B T V"], Float[Tensor, ""] | None]:
        """Score every next token.

        Returns:
            logits: unnormalised natural-log scores; `log_softmax` over V makes them probabilities.
            loss: mean nats per target that is not IGNORE, 0 if all are; or None without targets.
        """
        ...

    def next_log_probs(self, ids: Int[Tensor, "B T"]) -> Float[Tensor, "B V"]:
        """Return natural-log probabilities of the token after the last of `ids`."""
        ...


@runtime_checkable
class CountsTargets(Protocol):
    """What a model offers in training whose loss is not one mean over the `targets` of a batch.

    A mean over several batches is the mean of their means only if each is weighed by what it is a
    mean of; so whoever adds up batches must know how many that are. A model without this method
    says that its loss is a mean over the `targets` that are not IGNORE.

    A loss with several parts, such as one of tokens and one of pairs, is their sum, and each part
    has a number of its own. The parts then stand in what `forward` returns, as `losses`.
    """

    def n_targets(self, batch: Mapping[str, Tensor]) -> Sequence[int]:
        """Return how many things each part of the loss of a batch is a mean of."""
        ...
