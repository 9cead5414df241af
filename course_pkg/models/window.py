"""The fixed-window neural language model: similar histories get similar predictions.

Each of the last few words becomes a vector; the vectors, side by side, feed one hidden layer that
scores the next word. What n-gram tables cannot do, share what they learn between "the cat sat" and
"a dog sat", the vectors do. The price: each place in the window has its own weights.
Chapter: fixed-window. Bengio, Ducharme, Vincent & Jauvin 2003.
"""

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from course_pkg.common.checks import check_id, whole_numbers
from course_pkg.layers.inputs import TokenEmbedding, check_rows
from course_pkg.models.loss import nats_per_target


class FixedWindowLM(nn.Module):
    """y = b + W x + U tanh(d + H x), x = the window's embeddings: Bengio et al. 2003, eq. 1.

    With window W, embeddings of width E and hidden width R it has
    `V E + R (W E + 1) + V (R + 1)` parameters, and `V W E` more with direct connections: it grows
    linearly with the window, where a table of n-grams grows exponentially.

    Args:
        window: number of history tokens that count (the paper's n - 1).
        d_embedding: the paper's m.
        d_hidden: the paper's h.
        eos_id: stands for what comes before the text, as often as the window needs.
        has_direct: adds W x, the direct connections from embeddings to scores.

    Example:
        >>> model = FixedWindowLM(7, window=3, d_embedding=4, d_hidden=5, eos_id=0)
        >>> logits, loss = model(torch.tensor([[0, 2, 6, 1]]), torch.tensor([[2, 6, 1, 0]]))
        >>> logits.shape
        torch.Size([1, 4, 7])
    """

    context_length: int | None = None  # reads a text of any length, of which the end counts

    def __init__(
        self,
        vocab_size: int,
        window: int,
        d_embedding: int,
        d_hidden: int,
        *,
        eos_id: int,
        has_direct: bool = False,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        whole_numbers(vocab_size=vocab_size, window=window)
        whole_numbers(d_embedding=d_embedding, d_hidden=d_hidden)
        check_id("eos_id", eos_id, vocab_size)
        self.vocab_size, self.window, self.eos_id = vocab_size, window, eos_id
        self.embedding = TokenEmbedding(vocab_size, d_embedding)  # C
        self.hidden = nn.Linear(window * d_embedding, d_hidden)  # H, d
        self.output = nn.Linear(d_hidden, vocab_size)  # U, b
        self.direct = (
            nn.Linear(window * d_embedding, vocab_size, bias=False) if has_direct else None
        )
        self.initialise(generator)

    def initialise(self, generator: torch.Generator | None = None) -> None:
        """Draw embeddings from N(0, 1) and weights so that each sum keeps its variance."""
        nn.init.normal_(self.embedding.weight, generator=generator)
        for layer in (self.hidden, self.output, self.direct):
            if layer is not None:
                nn.init.normal_(layer.weight, std=layer.in_features**-0.5, generator=generator)
        nn.init.zeros_(self.hidden.bias)
        nn.init.zeros_(self.output.bias)

    def windows(self, ids: Int[Tensor, "B T"]) -> Int[Tensor, "B T W"]:
        """Return, for each position, the last W ids up to and with it, the oldest first."""
        check_rows(ids)
        return F.pad(ids, (self.window - 1, 0), value=self.eos_id).unfold(1, self.window, 1)

    def forward(
        self, ids: Int[Tensor, "B T"], targets: Int[Tensor, "B T"] | None = None
    ) -> tuple[Float[Tensor, "B T V"], Float[Tensor, ""] | None]:
        """Score every next token; the loss is in nats per target that is not IGNORE."""
        inputs = self.embedding(self.windows(ids)).flatten(2)  # (B, T, W*E)
        logits = self.output(torch.tanh(self.hidden(inputs)))
        if self.direct is not None:
            logits = logits + self.direct(inputs)
        if targets is None:
            return logits, None
        return logits, nats_per_target(logits, targets)

    def next_log_probs(self, ids: Int[Tensor, "B T"]) -> Float[Tensor, "B V"]:
        """Return natural-log probabilities of the token after the last of `ids`."""
        logits: Tensor = self(ids[:, -self.window :])[0]
        return logits[:, -1].log_softmax(dim=-1)
