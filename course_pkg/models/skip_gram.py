"""Skip-gram with negative sampling: one vector for each word, whatever its context.

Instead of the probability of a neighbour among all words, whose sum over the vocabulary is dear,
the model learns to tell a word's true neighbours from words that were drawn at random: a logistic
regression on the dot product of two vectors. What comes out is static: *bank* has one vector. It is
what contextual vectors are set against.
Chapters: fixed-window models, BERT. Mikolov et al. 2013; Levy & Goldberg 2014.
"""

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from course_pkg.common.checks import documents_of_ids, whole_numbers
from course_pkg.layers.inputs import TokenEmbedding
from course_pkg.models import IGNORE


class SkipGram(nn.Module):
    """Vectors for words as centres and as contexts: Mikolov et al. 2013, eq. 4.

    log sigmoid(u_c . v_w) + sum over k drawn words n of log sigmoid(-u_n . v_w)

    is raised for each word w and context c. With enough dimensions its maximum is at
    u_c . v_w = log(P(w, c) / (P(w) Q(c))) - log k for noise Q (Levy & Goldberg 2014, eq. 7): the
    dot products approach a table of how much more often two words meet than by chance.

    Args:
        counts: how often each id occurs; ids that never do are never drawn.
        n_negative: drawn words per pair, k.
        power: noise is drawn in proportion to counts^power; the paper found 0.75 best.
        generator: source of the first vectors; that of the noise is `draw`'s.
    """

    def __init__(
        self,
        counts: Int[Tensor, " V"],
        d_embedding: int,
        *,
        n_negative: int = 5,
        power: float = 0.75,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        whole_numbers(d_embedding=d_embedding, n_negative=n_negative)
        counts = _counts(counts)
        self.vocab_size, self.n_negative = len(counts), n_negative
        self.embedding = TokenEmbedding(len(counts), d_embedding)  # v, which is kept
        self.context = TokenEmbedding(len(counts), d_embedding)  # u
        nn.init.uniform_(
            self.embedding.weight, -0.5 / d_embedding, 0.5 / d_embedding, generator=generator
        )
        nn.init.zeros_(self.context.weight)
        # No buffer: it stays on the CPU, since Apple's GPU has no float64.
        self.noise: Tensor = counts.double() ** power

    def draw(self, n: int, generator: torch.Generator | None = None) -> Int[Tensor, "n K"]:
        """Draw the negative words of n pairs."""
        drawn = torch.multinomial(self.noise, n * self.n_negative, True, generator=generator)
        return drawn.view(n, self.n_negative)

    def forward(
        self,
        ids: Int[Tensor, " B"],
        targets: Int[Tensor, " B"],
        negatives: Int[Tensor, "B K"] | None = None,
    ) -> tuple[Float[Tensor, "B K_1"], Float[Tensor, ""]]:
        """Score each word's context and the words drawn against it.

        Args:
            ids: centres.
            targets: their contexts; IGNORE leaves a pair out.
            negatives: words to be told from the context; None draws them.

        Returns:
            scores: dot products, the context's first.
            loss: nats per pair.
        """
        is_pair = targets != IGNORE
        negatives = self.draw(len(ids)).to(ids.device) if negatives is None else negatives
        words = torch.cat([targets.where(is_pair, 0).unsqueeze(1), negatives], dim=1)  # (B, 1 + K)
        scores = (self.context(words) @ self.embedding(ids).unsqueeze(-1)).squeeze(-1)
        signs = torch.full_like(scores[0], -1.0)
        signs[0] = 1.0
        losses = -F.logsigmoid(signs * scores).sum(dim=1)
        return scores, losses.where(is_pair, 0.0).sum() / is_pair.sum().clamp(min=1)


def _counts(counts: Int[Tensor, " V"]) -> Int[Tensor, " V"]:
    counts = torch.as_tensor(counts)
    if bool((counts < 0).any()) or not bool((counts > 0).any()):
        raise ValueError("counts must not be negative, and of some id above 0")
    return counts


def skip_gram_pairs(
    documents: list[list[int]],
    window: int,
    *,
    keep: Float[Tensor, " V"] | None = None,
    generator: torch.Generator | None = None,
) -> Int[Tensor, "N 2"]:
    """Return pairs of a word and a word near it, each word with a window of its own.

    The window is drawn from 1 to `window` on both sides, so that near words count more.

    Args:
        documents: ids; no pair crosses from one to another.
        window: most words between a pair, plus one.
        keep: probability with which a word stays in the text, by id; words that are dropped do not
            count as distance. `keep_probabilities` gives the paper's.
        generator: source of windows and of what is dropped.

    Raises:
        ValueError: a window below 1, or documents without any pair.
    """
    whole_numbers(window=window)
    documents = list(documents)
    documents_of_ids(documents)
    pairs = []
    for document in documents:
        ids = torch.tensor(document, dtype=torch.int64)
        if keep is not None:
            ids = ids[torch.rand(len(ids), generator=generator) < keep[ids]]
        reach = torch.randint(1, window + 1, (len(ids),), generator=generator)
        for distance in range(1, window + 1):
            is_near = reach >= distance
            to_right, to_left = is_near[:-distance], is_near[distance:]
            left, right = ids[:-distance], ids[distance:]
            pairs.append(torch.stack([left[to_right], right[to_right]], dim=1))
            pairs.append(torch.stack([right[to_left], left[to_left]], dim=1))
    found = torch.cat(pairs) if pairs else torch.empty(0, 2)
    if len(found) == 0:
        raise ValueError("documents have no two words side by side; there is no pair to learn from")
    return found


def keep_probabilities(counts: Int[Tensor, " V"], threshold: float = 1e-3) -> Float[Tensor, " V"]:
    """Return sqrt(threshold / share), at most 1: Mikolov et al. 2013, eq. 5. Frequent words thin.

    Args:
        counts: how often each id occurs.
        threshold: share of the text above which a word is dropped at times; 1e-5 for large texts.

    Raises:
        ValueError: no count above 0, or a threshold that is not positive.
    """
    if not threshold > 0:
        raise ValueError(f"threshold is {threshold}; it must be positive")
    counts = _counts(counts)
    share = counts.double() / counts.sum()
    return (threshold / share).sqrt().clamp(max=1.0)
