"""A language model of one causal self-attention layer and nothing else: the first without a state.

Between the embedding and the scores of the next token stands one attention layer, added to its
input so that a token keeps itself. No feed-forward layer, no norm, one layer; and unless a scheme
for positions is given, no order: what the model says depends on the newest token and on which
tokens came before it, not on where they stood.

Chapters: self-attention, positions. Vaswani et al. 2017, section 3.2.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from course_pkg.common.checks import whole_numbers
from course_pkg.layers.attention import MultiHeadAttention
from course_pkg.layers.blocks import Trace
from course_pkg.layers.inputs import TokenEmbedding, check_rows
from course_pkg.layers.positions import AttentionPositions
from course_pkg.models.loss import nats_per_target


class AttentionLM(nn.Module):
    """Score every next token from its own and an average of those before, in each of H heads.

    Args:
        positions: how order enters the scores; None if it does not.
        n_layers: attention layers, one on top of the other.
        generator: source of the initial weights: embeddings of variance one, for which the
            division by sqrt(K) is made, and the rest uniform in +-1/sqrt(D).

    Example:
        >>> model = AttentionLM(11, d_model=8, n_heads=2)
        >>> model(torch.tensor([[0, 3, 1]]))[0].shape
        torch.Size([1, 3, 11])
    """

    context_length = None

    def __init__(
        self,
        vocab_size: int,
        d_model: int,
        n_heads: int,
        *,
        n_layers: int = 1,
        positions: AttentionPositions | None = None,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        whole_numbers(vocab_size=vocab_size, n_layers=n_layers)
        self.vocab_size = vocab_size
        self.embedding = TokenEmbedding(vocab_size, d_model)
        self.layers = nn.ModuleList(
            MultiHeadAttention(d_model, n_heads, positions=positions) for _ in range(n_layers)
        )
        self.output = nn.Linear(d_model, vocab_size)
        for name, weight in self.named_parameters():
            bound = 3**0.5 if "embedding" in name else d_model**-0.5
            nn.init.uniform_(weight, -bound, bound, generator=generator)

    def forward(
        self,
        ids: Int[Tensor, "B T"],
        targets: Int[Tensor, "B T"] | None = None,
        *,
        trace: Trace | None = None,
    ) -> tuple[Float[Tensor, "B T V"], Float[Tensor, ""] | None]:
        """Score every next token; the loss is in nats per target that is not IGNORE.

        Args:
            trace: where the weights of each layer are noted, if at all.
        """
        check_rows(ids)
        x = self.embedding(ids)  # (B, T, D)
        for attention in self.layers:
            weights = None if trace is None else trace.attention
            x = x + attention(x, is_causal=True, trace=weights)
        logits: Tensor = self.output(x)
        return logits, None if targets is None else nats_per_target(logits, targets)

    def next_log_probs(self, ids: Int[Tensor, "B T"]) -> Float[Tensor, "B V"]:
        """Return natural-log probabilities of the token after the last of `ids`."""
        return self(ids)[0][:, -1].log_softmax(dim=-1)
