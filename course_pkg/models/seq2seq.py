"""Sequence to sequence: one network reads the source, another writes the target.

Without attention all that the writer learns of the source has to pass through one vector, the
bottleneck. With attention each step takes its own average of the source's vectors, weighted by how
well they fit the writer's state. The two models differ in nothing else.
Chapter: sequence-to-sequence. Sutskever et al. 2014; Cho et al. 2014; Bahdanau et al. 2015;
Luong et al. 2015.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from course_pkg.common.checks import check_id, whole_numbers
from course_pkg.layers.attention import masked_softmax, padding_mask
from course_pkg.layers.inputs import TokenEmbedding, check_batches, check_rows
from course_pkg.layers.recurrent import (
    Cell,
    LSTMCell,
    RecurrentStack,
    State,
    initialise_uniform,
)
from course_pkg.models import IGNORE
from course_pkg.models.loss import count_targets, nats_per_target
from course_pkg.models.recurrent import BidirectionalEncoder


@dataclass(frozen=True)
class Memory:
    """What the encoder leaves to the decoder.

    Args:
        states: one vector for each source position.
        mask: True at real source positions.
        state: both directions after the whole source: where the decoder starts.
    """

    states: Float[Tensor, "B S R"]
    mask: Bool[Tensor, "B 1 S"]
    state: State


class Seq2Seq(nn.Module):
    """A bidirectional encoder and a decoder that is a language model of the target.

    Each direction of the encoder has half the decoder's width, so that together they fit it: their
    final state is the decoder's first, and their vectors can be compared with its own.

    Args:
        vocab_size: of the target.
        d_hidden: the decoder's width, an even number.
        eos_id: begins the decoder's input and ends the target.
        score: says how well decoder states (B, T, R) and encoder states (B, S, R) fit, as
            (B, T, S), for example `DotScore()`; None is the bottleneck without attention.
        generator: source of the initial weights, the given score's among them, all uniform in
            +-1/sqrt(d_hidden).

    Example:
        >>> model = Seq2Seq(9, 7, d_embedding=4, d_hidden=6, eos_id=0)
        >>> model(torch.tensor([[3, 8, 1]]), torch.tensor([[0, 2, 6, 1]]))[0].shape
        torch.Size([1, 4, 7])
    """

    def __init__(
        self,
        source_vocab_size: int,
        vocab_size: int,
        d_embedding: int,
        d_hidden: int,
        n_layers: int = 1,
        *,
        eos_id: int,
        score: nn.Module | None = None,
        cell: type[Cell] = LSTMCell,
        dropout: float = 0.0,
        fused: bool = True,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        sizes = {"source_vocab_size": source_vocab_size, "vocab_size": vocab_size}
        whole_numbers(**sizes, d_embedding=d_embedding, d_hidden=d_hidden, n_layers=n_layers)
        check_id("eos_id", eos_id, vocab_size)
        if d_hidden % 2:
            raise ValueError(f"d_hidden is {d_hidden}; it must be even, half for each direction")
        self.vocab_size, self.eos_id = vocab_size, eos_id
        self.encoder = BidirectionalEncoder(
            source_vocab_size,
            d_embedding,
            d_hidden // 2,
            n_layers,
            cell=cell,
            dropout=dropout,
            fused=fused,
        )
        self.dropout = nn.Dropout(dropout)
        self.embedding = TokenEmbedding(vocab_size, d_embedding)
        self.decoder = RecurrentStack(
            cell, d_embedding, d_hidden, n_layers, dropout=dropout, fused=fused
        )
        self.score = score
        self.combine = nn.Linear(2 * d_hidden, d_hidden)
        self.output = nn.Linear(d_hidden, vocab_size)
        initialise_uniform(self, d_hidden**-0.5, generator)

    def encode(
        self, source_ids: Int[Tensor, "B S"], source_lengths: Int[Tensor, " B"] | None = None
    ) -> Memory:
        """Read the source.

        Args:
            source_lengths: number of real ids in each row; None means all.
        """
        if source_lengths is None:
            source_lengths = source_ids.new_full((len(source_ids),), source_ids.shape[1])
        states, ends = self.encoder(source_ids, source_lengths)
        # (2L, B, R/2), forward and backward in turn -> (L, B, R), side by side
        state = tuple(part.unflatten(0, (-1, 2)).transpose(1, 2).flatten(2) for part in ends)
        return Memory(states, padding_mask(source_lengths, source_ids.shape[1]), state)

    def attention_weights(
        self, memory: Memory, states: Float[Tensor, "B T R"]
    ) -> Float[Tensor, "B T S"]:
        """Return where each decoder state looks; each row sums to one over real source positions.

        Raises:
            ValueError: if the model has no attention.
        """
        if self.score is None:
            raise ValueError("score is None; a model without attention has no weights")
        return masked_softmax(self.score(states, memory.states), memory.mask)

    def decode(
        self, memory: Memory, state: State, ids: Int[Tensor, "B T"]
    ) -> tuple[Float[Tensor, "B T V"], Float[Tensor, "B T R"], State]:
        """Score the target's next tokens, given the ones before: Luong et al. 2015, eq. 5 and 6.

        The same few lines serve training, on whole targets, and search, token by token: what the
        decoder sees of the source cannot drift between the two.

        Returns:
            logits: scores of the token after each of `ids`.
            states: the decoder's own, before they met the source.
            state: after the last of `ids`.
        """
        check_rows(ids)
        states, state = self.decoder(self.dropout(self.embedding(ids)), state)
        if self.score is None:
            context = memory.state[0][-1].unsqueeze(1).expand_as(states)  # the bottleneck
        else:
            context = self.attention_weights(memory, states) @ memory.states
        combined = torch.tanh(self.combine(torch.cat([states, context], dim=-1)))
        return self.output(self.dropout(combined)), states, state

    def forward(
        self,
        source_ids: Int[Tensor, "B S"],
        ids: Int[Tensor, "B T"],
        targets: Int[Tensor, "B T"] | None = None,
        *,
        source_lengths: Int[Tensor, " B"] | None = None,
    ) -> tuple[Float[Tensor, "B T V"], Float[Tensor, ""] | None]:
        """Score every next target token, the true ones before it being known (teacher forcing).

        Args:
            ids: the decoder's input: eos, then the target.
            targets: the target, then eos. What follows the first eos adds nothing to the loss.
            source_lengths: number of real source ids in each row; None means all.

        Returns:
            logits: position t scores the token after `ids[:, t]`.
            loss: mean nats per target up to and with its eos, or None without targets.
        """
        check_batches(source_ids, ids)
        memory = self.encode(source_ids, source_lengths)
        logits, _, _ = self.decode(memory, memory.state, ids)
        if targets is None:
            return logits, None
        targets = ignore_after_eos(targets, self.eos_id)
        return logits, nats_per_target(logits, targets)

    def n_targets(self, batch: Mapping[str, Tensor]) -> tuple[int]:
        """Return how many targets of a batch the loss is a mean of: none after an eos."""
        return count_targets({"targets": ignore_after_eos(batch["targets"], self.eos_id)})

    def align(
        self,
        source_ids: Int[Tensor, "B S"],
        ids: Int[Tensor, "B T"],
        source_lengths: Int[Tensor, " B"] | None = None,
    ) -> Float[Tensor, "B T S"]:
        """Return the attention weights with which the token after each of `ids` is predicted.

        Raises:
            ValueError: if the model has no attention.
        """
        memory = self.encode(source_ids, source_lengths)
        _, states, _ = self.decode(memory, memory.state, ids)
        return self.attention_weights(memory, states)

    def start(
        self, source_ids: Int[Tensor, "B S"], source_lengths: Int[Tensor, " B"] | None = None
    ) -> "Decoding":
        """Read the source and return a blank target for each row, for a search to continue.

        Raises:
            ValueError: in training mode, whose dropout would make the search see another model.
        """
        if self.training:
            raise ValueError("training is True; call eval() before a search")
        memory = self.encode(source_ids, source_lengths)
        return Decoding(self, memory, memory.state)


@dataclass(frozen=True)
class Decoding:
    """Targets in progress, one per row: all that the next step needs."""

    model: Seq2Seq
    memory: Memory
    state: State

    def advance(self, ids: Int[Tensor, " N"]) -> tuple[Float[Tensor, "N V"], "Decoding"]:
        """Append one id to each row; return the next one's log probabilities, and what follows."""
        logits, _, state = self.model.decode(self.memory, self.state, ids.unsqueeze(1))
        return logits[:, 0].log_softmax(dim=-1), replace(self, state=state)

    def select(self, rows: Int[Tensor, " M"]) -> "Decoding":
        """Return the targets of the given rows, in that order; a row may come more than once."""
        memory = Memory(
            self.memory.states[rows],
            self.memory.mask[rows],
            tuple(part[:, rows] for part in self.memory.state),
        )
        return Decoding(self.model, memory, tuple(part[:, rows] for part in self.state))


def ignore_after_eos(targets: Int[Tensor, "B T"], eos_id: int) -> Int[Tensor, "B T"]:
    """Replace whatever follows the first eos of a row by IGNORE; the eos itself is a target."""
    is_eos = targets == eos_id
    n_eos_before = is_eos.cumsum(dim=1) - is_eos.long()
    return targets.masked_fill(n_eos_before > 0, IGNORE)
