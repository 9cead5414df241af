"""Recurrent models: one state that reads a text of any length.

The state after the last word stands for the whole history, so the window's limit is gone; the same
weights read every position. `RecurrentLM` predicts the next token; `BidirectionalEncoder`, which
reads from both ends, feeds a classifier or a tagger.
Chapter: recurrent-networks. Elman 1990; Mikolov et al. 2010; Zaremba et al. 2014.
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from course_pkg.common.checks import is_model, whole_numbers
from course_pkg.layers.attention import padding_mask
from course_pkg.layers.inputs import TokenEmbedding, check_lengths, check_rows
from course_pkg.layers.recurrent import (
    Cell,
    LSTMCell,
    RecurrentStack,
    State,
    Step,
    initialise_uniform,
)
from course_pkg.models.loss import count_tags, nats_per_label, nats_per_tag, nats_per_target


class RecurrentLM(nn.Module):
    """Embeds each token, runs a recurrent stack over them, scores the next token from its output.

    Dropout stands where Zaremba et al. 2014 put it: on inputs, between layers and on outputs, never
    on the state's way through time.

    Args:
        is_tied: scores with the embedding matrix itself; needs d_embedding equal to d_hidden.
        fused: True runs the library's kernel, False the written-out loop: the same numbers.
        step: written-out loop only: replaces the cell's own step.
        generator: source of the initial weights; each part's are uniform in +-1/sqrt(its inputs).

    Example:
        >>> model = RecurrentLM(7, d_embedding=4, d_hidden=5)
        >>> model(torch.tensor([[0, 2, 6, 1]]))[0].shape
        torch.Size([1, 4, 7])
    """

    context_length: int | None = None

    def __init__(
        self,
        vocab_size: int,
        d_embedding: int,
        d_hidden: int,
        n_layers: int = 1,
        *,
        cell: type[Cell] = LSTMCell,
        dropout: float = 0.0,
        is_tied: bool = False,
        fused: bool = True,
        step: Step | None = None,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        whole_numbers(vocab_size=vocab_size, d_embedding=d_embedding, d_hidden=d_hidden)
        if is_tied and d_embedding != d_hidden:
            raise ValueError(
                f"d_embedding is {d_embedding} and d_hidden is {d_hidden}; "
                "tied weights need them equal"
            )
        self.vocab_size = vocab_size
        self.dropout = nn.Dropout(dropout)
        self.embedding = TokenEmbedding(vocab_size, d_embedding)
        self.stack = RecurrentStack(
            cell,
            d_embedding,
            d_hidden,
            n_layers,
            dropout=dropout,
            fused=fused,
            step=step,
            generator=generator,
        )
        self.output = nn.Linear(d_hidden, vocab_size)
        initialise_uniform(self.embedding, d_embedding**-0.5, generator)
        initialise_uniform(self.output, d_hidden**-0.5, generator)
        if is_tied:
            self.output.weight = self.embedding.weight

    def read(
        self, ids: Int[Tensor, "B T"], state: State | None = None
    ) -> tuple[Float[Tensor, "B T R"], State]:
        """Return the top layer's outputs and the state after the last token.

        Args:
            state: after the text so far; None is the blank state before any text.
        """
        check_rows(ids)
        outputs, state = self.stack(self.dropout(self.embedding(ids)), state)
        return self.dropout(outputs), state

    def forward(
        self, ids: Int[Tensor, "B T"], targets: Int[Tensor, "B T"] | None = None
    ) -> tuple[Float[Tensor, "B T V"], Float[Tensor, ""] | None]:
        """Score every next token from a blank state; the loss is in nats per real target."""
        logits, loss, _ = self.forward_from(None, ids, targets)
        return logits, loss

    def forward_from(
        self,
        state: State | None,
        ids: Int[Tensor, "B T"],
        targets: Int[Tensor, "B T"] | None = None,
    ) -> tuple[Float[Tensor, "B T V"], Float[Tensor, ""] | None, State]:
        """Score every next token of a text that goes on; also return the state after it."""
        outputs, state = self.read(ids, state)
        logits = self.output(outputs)
        if targets is None:
            return logits, None, state
        loss = nats_per_target(logits, targets)
        return logits, loss, state

    def next_log_probs(self, ids: Int[Tensor, "B T"]) -> Float[Tensor, "B V"]:
        """Return natural-log probabilities of the token after the last of `ids`."""
        outputs, _ = self.read(ids)
        logits: Tensor = self.output(outputs[:, -1])
        return logits.log_softmax(dim=-1)


class TruncatedBPTT(nn.Module):
    """Trains a RecurrentLM on a long stream, piece by piece: Williams & Peng 1990.

    In training each call goes on from the state in which the last call ended. The state's value is
    carried, its graph is cut, so that gradients, time and memory stay within the piece. In
    evaluation every call is a text of its own: this is then the plain model.

    The carried state is part of `state_dict`, so that a resumed run goes on where it stopped.

    Args:
        batch_size: number of parallel streams; row b of each batch must continue row b of the last.
    """

    context_length: int | None = None

    def __init__(self, model: RecurrentLM, batch_size: int) -> None:
        super().__init__()
        is_model(model, RecurrentLM)
        whole_numbers(batch_size=batch_size)
        self.model, self.vocab_size = model, model.vocab_size
        blank = model.stack.initial_state(batch_size)
        self.names = [f"carried_{part}" for part in range(len(blank))]
        for name, part in zip(self.names, blank, strict=True):
            self.register_buffer(name, part.clone())

    def reset(self) -> None:
        """Forget the stream: the next piece starts from a blank state."""
        for name in self.names:
            getattr(self, name).zero_()

    def forward(
        self,
        ids: Int[Tensor, "B T"],
        targets: Int[Tensor, "B T"] | None = None,
        *,
        is_start: Bool[Tensor, ""] | None = None,
    ) -> tuple[Float[Tensor, "B T V"], Float[Tensor, ""] | None]:
        """Score every next token of the streams' next pieces.

        Args:
            is_start: whether the streams begin with these pieces, as they do in each new epoch; the
                state is then blank. None is False.
        """
        if not self.training:
            logits, loss = self.model(ids, targets)
            return logits, loss
        check_rows(ids)
        state = tuple(getattr(self, name).clone() for name in self.names)
        if (
            is_start is not None
        ):  # masked rather than tested: an if would make the CPU wait for the GPU
            state = tuple(part.masked_fill(is_start, 0.0) for part in state)
        if state[0].shape[1] != len(ids):
            raise ValueError(
                f"ids have {len(ids)} rows; the carried state has {state[0].shape[1]} streams"
            )
        logits, loss, state = self.model.forward_from(state, ids, targets)
        for name, part in zip(self.names, state, strict=True):
            getattr(self, name).copy_(part.detach())
        return logits, loss

    def next_log_probs(self, ids: Int[Tensor, "B T"]) -> Float[Tensor, "B V"]:
        """Return natural-log probabilities of the token after the last of `ids`, a new text."""
        return self.model.next_log_probs(ids)


def gradient_norms_by_distance(
    model: RecurrentLM, ids: Int[Tensor, "B T"], targets: Int[Tensor, " B"]
) -> Float[Tensor, " T"]:
    """Measure how much of the last prediction's error reaches the states of long ago.

    Entry k is the norm of d loss / d state, k steps before the end, averaged over the batch; state
    means all that is carried to the next step, so for an LSTM the memory too.
    Pascanu et al. 2013, eq. 5.

    Args:
        targets: the token after each row of `ids`.
    """
    state = model.stack.initial_state(len(ids))
    states = []
    for t in range(ids.shape[1]):
        # One token at a time, so that each carried state is a node of the graph.
        _, state = model.read(ids[:, t : t + 1], state)
        states.append(state)
    # The top layer's hidden state is its output; scoring the state makes it a node before the loss.
    loss = F.cross_entropy(model.output(state[0][-1]), targets, reduction="sum")
    nodes = [part for state in states for part in state]
    grads = torch.autograd.grad(loss, nodes, allow_unused=True)  # the last memory reaches no loss
    per_step = torch.stack(
        [torch.zeros_like(state[0]) if grad is None else grad for grad in grads]
    ).unflatten(0, (len(states), len(state)))  # (T, parts, L, B, R)
    return per_step.square().sum(dim=(1, 2, 4)).sqrt().mean(dim=1).flip(0)


class BidirectionalEncoder(nn.Module):
    """Reads a text from both ends: each position's vector knows what stands before and after it.

    Schuster & Paliwal 1997. No language model: it has seen what it would have to predict.
    """

    def __init__(
        self,
        vocab_size: int,
        d_embedding: int,
        d_hidden: int,
        n_layers: int = 1,
        *,
        cell: type[Cell] = LSTMCell,
        dropout: float = 0.0,
        fused: bool = True,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        whole_numbers(vocab_size=vocab_size, d_embedding=d_embedding, d_hidden=d_hidden)
        self.dropout = nn.Dropout(dropout)
        self.embedding = TokenEmbedding(vocab_size, d_embedding)
        initialise_uniform(self.embedding, d_embedding**-0.5, generator)
        self.stack = RecurrentStack(
            cell,
            d_embedding,
            d_hidden,
            n_layers,
            is_bidirectional=True,
            dropout=dropout,
            fused=fused,
            generator=generator,
        )
        self.d_output = self.stack.d_output

    def forward(
        self, ids: Int[Tensor, "B T"], lengths: Int[Tensor, " B"] | None = None
    ) -> tuple[Float[Tensor, "B T DR"], State]:
        """Return each position's vector, zero at padding, and the state after the whole text.

        Args:
            lengths: number of real ids in each row; None means all.
        """
        check_rows(ids)
        states, state = self.stack(self.dropout(self.embedding(ids)), None, lengths)
        return self.dropout(states), state


Pool = Callable[[Tensor, Tensor], Tensor]
"""Turns the vectors of a text, (B, T, D), and its lengths, (B,), into one vector, (B, D)."""


def mean_pool(states: Float[Tensor, "B T D"], lengths: Int[Tensor, " B"]) -> Float[Tensor, "B D"]:
    """Average over the real positions, one at least."""
    check_lengths(lengths, states.shape)
    is_real = padding_mask(lengths, states.shape[1]).transpose(1, 2)  # (B, T, 1)
    return states.masked_fill(~is_real, 0.0).sum(dim=1) / lengths.unsqueeze(-1)


def max_pool(states: Float[Tensor, "B T D"], lengths: Int[Tensor, " B"]) -> Float[Tensor, "B D"]:
    """Take each feature's largest value over the real positions, one at least."""
    check_lengths(lengths, states.shape)
    is_real = padding_mask(lengths, states.shape[1]).transpose(1, 2)  # (B, T, 1)
    return states.masked_fill(~is_real, -torch.inf).amax(dim=1)


def last_pool(states: Float[Tensor, "B T D"], lengths: Int[Tensor, " B"]) -> Float[Tensor, "B D"]:
    """Take where each direction has read everything: forward at the end, backward at the start."""
    check_lengths(lengths, states.shape)
    forward, backward = states.chunk(2, dim=-1)
    rows = torch.arange(len(states), device=states.device)
    return torch.cat([forward[rows, lengths - 1], backward[:, 0]], dim=-1)


class SequenceClassifier(nn.Module):
    """One label for a text: encode, pool, score the classes.

    Args:
        pool: `mean_pool`, `max_pool`, `last_pool` or a function of the same form.
    """

    def __init__(
        self,
        encoder: BidirectionalEncoder,
        n_classes: int,
        *,
        pool: Pool = mean_pool,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        whole_numbers(n_classes=n_classes)
        self.encoder, self.pool = encoder, pool
        self.output = nn.Linear(encoder.d_output, n_classes)
        initialise_uniform(self.output, encoder.d_output**-0.5, generator)

    def forward(
        self,
        ids: Int[Tensor, "B T"],
        *,
        lengths: Int[Tensor, " B"],
        targets: Int[Tensor, " B"] | None = None,
    ) -> tuple[Float[Tensor, "B C"], Float[Tensor, ""] | None]:
        """Score the classes; the loss is in nats per text."""
        states, _ = self.encoder(ids, lengths)
        logits = self.output(self.pool(states, lengths))
        return logits, None if targets is None else nats_per_label(logits, targets)


class Tagger(nn.Module):
    """One label for each token: encode, score the tags at every position."""

    n_targets = staticmethod(count_tags)

    def __init__(
        self,
        encoder: BidirectionalEncoder,
        n_tags: int,
        *,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        whole_numbers(n_tags=n_tags)
        self.encoder = encoder
        self.output = nn.Linear(encoder.d_output, n_tags)
        initialise_uniform(self.output, encoder.d_output**-0.5, generator)

    def forward(
        self,
        ids: Int[Tensor, "B T"],
        *,
        lengths: Int[Tensor, " B"],
        targets: Int[Tensor, "B T"] | None = None,
    ) -> tuple[Float[Tensor, "B T C"], Float[Tensor, ""] | None]:
        """Score the tags; the loss is in nats per real token whose target is not IGNORE."""
        states, _ = self.encoder(ids, lengths)
        logits = self.output(states)
        if targets is None:
            return logits, None
        return logits, nats_per_tag(logits, targets, lengths)
