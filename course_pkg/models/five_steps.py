"""From the recurrent encoder–decoder to the transformer in five steps, each a model that runs.

The state is relieved of one duty after another, until it has none left and is taken out. What all
six models share (embeddings, the last layers, the loss) is written once, so that two neighbours
differ in what the step says and in nothing else.

Chapter: self-attention. Cho et al. 2014; Bahdanau et al. 2015; Cheng et al. 2016; Vaswani et al.
2017. The order of the steps follows a lecture by Anant Sahai (Berkeley, EECS 182, 2023).
"""

from dataclasses import dataclass, replace

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from course_pkg.layers.attention import MultiHeadAttention, padding_mask
from course_pkg.layers.inputs import TokenEmbedding, check_batches, check_lengths
from course_pkg.layers.positions import SinusoidalPositions
from course_pkg.layers.recurrent import GRUCell, RecurrentStack
from course_pkg.models.loss import nats_per_target


@dataclass(frozen=True)
class StepWiring:
    """How the words of the source, and those of the target, come to know of each other.

    Attributes:
        encoder: "recurrent", one word after another; "causal", attention to the words before; or
            "full", attention to all words.
        has_recurrent_decoder: whether the decoder carries a state.
        has_self_attention: whether the decoder attends to what it has written so far.
        has_cross_attention: whether it attends to the encoder's vectors; if not, all that it has
            of the source is the encoder's last state.
        has_positions: whether sinusoids are added to the embeddings of both sides.
    """

    encoder: str = "recurrent"
    has_recurrent_decoder: bool = True
    has_self_attention: bool = False
    has_cross_attention: bool = False
    has_positions: bool = False

    def __post_init__(self) -> None:
        if self.encoder not in ("recurrent", "causal", "full"):
            raise ValueError(f"encoder is {self.encoder!r}; it must be recurrent, causal or full")
        if self.encoder != "recurrent" and self.has_recurrent_decoder:
            raise ValueError(
                f"encoder is {self.encoder!r}, which leaves no last state; the decoder must not be "
                "recurrent"
            )
        if not self.has_cross_attention and not self.has_recurrent_decoder:
            raise ValueError(
                "has_cross_attention is False; then the source reaches only a recurrent decoder"
            )


_STEP_0 = StepWiring()
_STEP_1 = replace(_STEP_0, has_cross_attention=True)
_STEP_2 = replace(_STEP_1, has_self_attention=True)
_STEP_3 = replace(_STEP_2, has_recurrent_decoder=False)
_STEP_4 = replace(_STEP_3, encoder="causal")
_STEP_5 = replace(_STEP_4, encoder="full")
FIVE_STEPS = (_STEP_0, _STEP_1, _STEP_2, _STEP_3, _STEP_4, _STEP_5)
"""Where we start, and the wiring after each step: each differs from the last in one attribute."""


class FiveStepsTranslator(nn.Module):
    """An encoder–decoder of one layer on each side, with the wiring of one step.

    Self-attention is added to its input (a residual connection), so that a word keeps itself.

    Args:
        wiring: one of `FIVE_STEPS`, or another.
        source_vocab_size, vocab_size: of the source and of the target.
        d_model: width of everything.
        n_heads: of each attention layer.
        generator: source of the initial weights.

    Example:
        >>> model = FiveStepsTranslator(FIVE_STEPS[5], 9, 7, d_model=8, n_heads=2)
        >>> model(torch.tensor([[3, 8, 1]]), torch.tensor([[0, 2, 6, 1]]))[0].shape
        torch.Size([1, 4, 7])
    """

    def __init__(
        self,
        wiring: StepWiring,
        source_vocab_size: int,
        vocab_size: int,
        d_model: int,
        n_heads: int,
        *,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        self.wiring, self.vocab_size = wiring, vocab_size
        self.source_embedding = TokenEmbedding(source_vocab_size, d_model)
        self.target_embedding = TokenEmbedding(vocab_size, d_model)
        self.positions = SinusoidalPositions(d_model) if wiring.has_positions else None
        is_recurrent = wiring.encoder == "recurrent"
        self.reader = RecurrentStack(GRUCell, d_model, d_model) if is_recurrent else None
        self.reader_attention = None if is_recurrent else MultiHeadAttention(d_model, n_heads)
        self.writer: RecurrentStack | None = None
        if wiring.has_recurrent_decoder:
            self.writer = RecurrentStack(GRUCell, d_model, d_model)
        self.writer_attention: MultiHeadAttention | None = None
        if wiring.has_self_attention:
            self.writer_attention = MultiHeadAttention(d_model, n_heads)
        self.cross_attention: MultiHeadAttention | None = None
        if wiring.has_cross_attention:
            self.cross_attention = MultiHeadAttention(d_model, n_heads)
        self.combine = nn.Linear(2 * d_model, d_model)
        self.output = nn.Linear(d_model, vocab_size)
        for name, weight in self.named_parameters():
            # Embeddings of variance one: the attention scores then start at the size that the
            # division by sqrt(K) is made for.
            bound = 3**0.5 if "embedding" in name else d_model**-0.5
            nn.init.uniform_(weight, -bound, bound, generator=generator)

    def forward(
        self,
        source_ids: Int[Tensor, "B S"],
        ids: Int[Tensor, "B T"],
        targets: Int[Tensor, "B T"] | None = None,
        *,
        source_lengths: Int[Tensor, " B"] | None = None,
    ) -> tuple[Float[Tensor, "B T V"], Float[Tensor, ""] | None]:
        """Score every next target token, given the true ones before it (teacher forcing).

        Args:
            ids: the decoder's input: eos, then the target.
            targets: the target, then eos; IGNORE where nothing is predicted.
            source_lengths: number of real source ids in each row; None means all.

        Returns:
            The logits, and the loss in nats per target, or None without targets.
        """
        check_batches(source_ids, ids)
        if source_lengths is None:
            source_lengths = source_ids.new_full((len(source_ids),), source_ids.shape[1])
        check_lengths(source_lengths, source_ids.shape)
        mask = padding_mask(source_lengths, source_ids.shape[1])

        memory = self._embed(self.source_embedding, source_ids)
        state = None
        if self.reader is not None:
            memory, state = self.reader(memory, lengths=source_lengths)
        if self.reader_attention is not None:
            is_causal = self.wiring.encoder == "causal"
            memory = memory + self.reader_attention(memory, mask=mask, is_causal=is_causal)

        x = self._embed(self.target_embedding, ids)
        if self.writer is not None:
            x, _ = self.writer(x, state)
        if self.writer_attention is not None:
            x = x + self.writer_attention(x, is_causal=True)
        if self.cross_attention is not None:
            context = self.cross_attention(x, memory, mask=mask)
        else:
            assert state is not None  # the wiring demands it
            context = state[0][-1].unsqueeze(1).expand_as(x)
        hidden = torch.tanh(self.combine(torch.cat([x, context], dim=-1)))
        logits: Tensor = self.output(hidden)
        return logits, None if targets is None else nats_per_target(logits, targets)

    def _embed(self, embedding: nn.Module, ids: Int[Tensor, "B T"]) -> Float[Tensor, "B T D"]:
        x: Tensor = embedding(ids)
        if self.positions is None:
            return x
        return x + self.positions.waves(ids.shape[1], device=ids.device)
