"""What else a BERT can be asked in pretraining: a span from its edges, what is fake, any order.

Each class is a BERT in training, as `MaskedLMLoss` is: it takes batches, returns logits and a loss,
and leaves in `model` a plain BERT. RoBERTa asks less (masked LM alone, on more text), ALBERT and
DeBERTa ask the same of another structure (`models.bert`), DistilBERT asks a teacher as well
(`training.objectives.distillation_loss`).

Chapter: BERT. Joshi et al. 2020 (SpanBERT); Clark et al. 2020 (ELECTRA); Yang et al. 2019 (XLNet).
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from course_pkg.common.checks import check_id, equal_shapes, is_model
from course_pkg.models import IGNORE
from course_pkg.models.bert import BERT, MaskedLMLoss
from course_pkg.models.loss import count_targets, nats_per_target


class SpanBoundaryLoss(nn.Module):
    """SpanBERT in training: each token of a masked span is predicted twice.

    Once from its own vector, as ever, and once from the vectors of the two tokens beside the span
    and its place in it, y = f(x_left, x_right, p_place), where f is two layers with GELU and
    LayerNorm: so the neighbours learn what lies between them. Joshi et al. 2020, section 3.2.
    Batches: `masked_batches` with `whole_spans`. Two spans that touch count as one.

    Args:
        model: a BERT with heads.
        generator: source of the new layers' weights.
    """

    def __init__(self, model: BERT, *, generator: torch.Generator | None = None) -> None:
        super().__init__()
        is_model(model, BERT)
        self.model, D = model, model.config.d_model
        self.place_embedding = nn.Embedding(model.config.context_length, D)
        self.boundary_head = nn.Sequential(
            *(nn.Linear(3 * D, D), nn.GELU(), nn.LayerNorm(D)),
            *(nn.Linear(D, D), nn.GELU(), nn.LayerNorm(D)),
        )
        _draw(self.place_embedding, generator)
        _draw(self.boundary_head, generator)

    def forward(
        self,
        ids: Int[Tensor, "B T"],
        targets: Int[Tensor, "B T"],
        *,
        segments: Int[Tensor, "B T"] | None = None,
        mask: Bool[Tensor, "B T"] | None = None,
    ) -> tuple[Float[Tensor, "N V"], Float[Tensor, ""]]:
        """Return the logits of the masked places by the second way, and the sum of both losses."""
        x = self.model.encode(ids, segments=segments, mask=mask)
        hidden = targets != IGNORE
        rows, places = hidden.nonzero(as_tuple=True)
        left, right = (edge[hidden] for edge in span_edges(hidden))
        place_in_span = self.place_embedding(places - left - 1)
        edges = torch.cat([x[rows, left], x[rows, right], place_in_span], dim=-1)  # (N, 3 D)
        logits = F.linear(self.boundary_head(edges), self.model.output_table)
        masked_lm = nats_per_target(self.model.token_logits(x[hidden]), targets[hidden])
        return logits, masked_lm + nats_per_target(logits, targets[hidden])


def _draw(layers: nn.Module, generator: torch.Generator | None) -> None:
    """Draw new matrices as BERT's own; biases are zero."""
    for name, weight in layers.named_parameters():
        if weight.dim() > 1:
            nn.init.normal_(weight, std=0.02, generator=generator)
        elif name.endswith("bias"):
            nn.init.zeros_(weight)


def span_edges(hidden: Bool[Tensor, "B T"]) -> tuple[Int[Tensor, "B T"], Int[Tensor, "B T"]]:
    """Return for each place the nearest one to its left, and to its right, that is not hidden.

    Raises:
        ValueError: if the first or last place of a row is hidden: a span there has one edge only.
    """
    if bool(hidden[:, [0, -1]].any()):
        raise ValueError("a row begins or ends with a target; [CLS] and [SEP] must frame it")
    places = torch.arange(hidden.shape[1], device=hidden.device).expand_as(hidden)
    left = places.masked_fill(hidden, -1).cummax(dim=1).values
    right = places.masked_fill(hidden, hidden.shape[1]).flip(1).cummin(dim=1).values.flip(1)
    return left, right


class ReplacedTokenOutput(NamedTuple):
    """What ELECTRA says in training; begins with `(logits, loss)` like every model's answer.

    Attributes:
        logits: of "replaced" at each place.
        loss: the sum of both losses.
        losses: mean nats per masked token, and per place that is no padding, weighted.
    """

    logits: Float[Tensor, "B T"]
    loss: Float[Tensor, ""]
    losses: Float[Tensor, "2"]


class ReplacedTokenLoss(nn.Module):
    """ELECTRA in training: of every token of a text, say whether it was replaced.

    A small masked LM, the generator, fills the masked places with samples; the BERT that is wanted,
    the discriminator, learns from all places, not from 15 % of them. The generator is trained to
    fill in, not to deceive: no gradient passes the samples. A sample that happens to be right
    counts as original. Clark et al. 2020, section 3.1. Their two models share token embeddings;
    here each has its own.

    Args:
        model: the discriminator; its heads, if any, are not used.
        masked_lm: the generator, with heads; in the paper a quarter to a half as wide.
        weight: of the discriminator's loss; the paper's is 50, since nats per decision between two
            are few beside nats per token.
        generator: source of the new layers' weights. Samples, as dropout, come from torch's own.
    """

    def __init__(
        self,
        model: BERT,
        masked_lm: BERT,
        *,
        weight: float = 50.0,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        is_model(model, BERT)
        is_model(masked_lm, BERT)
        if masked_lm.vocab_size != model.vocab_size:
            raise ValueError(
                f"masked_lm has {masked_lm.vocab_size} tokens; model has {model.vocab_size}, and "
                "both must read the same ids"
            )
        self.model, self.masked_lm, self.weight = model, MaskedLMLoss(masked_lm), weight
        D = model.config.d_model
        self.detector_head = nn.Sequential(nn.Linear(D, D), nn.GELU(), nn.Linear(D, 1))
        _draw(self.detector_head, generator)

    def forward(
        self,
        ids: Int[Tensor, "B T"],
        targets: Int[Tensor, "B T"],
        *,
        segments: Int[Tensor, "B T"] | None = None,
        mask: Bool[Tensor, "B T"] | None = None,
    ) -> ReplacedTokenOutput:
        """Return the logit of "replaced" at each place, and the weighted sum of both losses."""
        guesses, masked_lm_loss = self.masked_lm(ids, targets, segments=segments, mask=mask)
        hidden = targets != IGNORE
        # The largest of logits with Gumbel noise is a sample, of no row at all as of many.
        noise = torch.empty_like(guesses).exponential_().log()
        samples = (guesses.detach() - noise).argmax(dim=-1)
        filled = ids.masked_scatter(hidden, samples.to(ids.dtype))
        is_replaced = filled != targets.where(hidden, ids)
        logits = self.detect(filled, segments=segments, mask=mask)
        is_real = torch.ones_like(hidden) if mask is None else mask
        detection = F.binary_cross_entropy_with_logits(
            logits[is_real], is_replaced[is_real].to(logits.dtype)
        )
        losses = torch.stack([masked_lm_loss, self.weight * detection])
        return ReplacedTokenOutput(logits, losses.sum(), losses)

    def n_targets(self, batch: Mapping[str, Tensor]) -> tuple[int, int]:
        """Return how many tokens of a batch are masked, and how many are no padding."""
        mask = batch.get("mask")
        n_real = batch["ids"].numel() if mask is None else int(mask.sum())
        return *count_targets(batch), n_real

    def detect(
        self,
        ids: Int[Tensor, "B T"],
        *,
        segments: Int[Tensor, "B T"] | None = None,
        mask: Bool[Tensor, "B T"] | None = None,
    ) -> Float[Tensor, "B T"]:
        """Return the logit of "replaced" at each place."""
        logits: Tensor = self.detector_head(self.model.encode(ids, segments=segments, mask=mask))
        return logits.squeeze(-1)


class PermutationLoss(nn.Module):
    """XLNet in training: predict tokens in a random order, each from those earlier in that order.

    The text itself stays as it is; only who sees whom follows the order. A place to be predicted
    must know where it is and not what stands there, while later ones shall see what stands there:
    so there are two vectors for each place, its *content* and its *query*, which begins as [MASK].
    Both look at the contents of earlier places, the content at itself as well; nobody looks at a
    query. Yang et al. 2019, eqs. 3 and 5, sections 2.3 (two streams) and 2.5.

    Here the two streams are one row of twice the length, and the rule is a mask: plain, at the
    price of scores with queries that are masked. Left out is Transformer-XL: relative positions by
    its rule, and memory between windows.

    Args:
        model: a BERT with heads, with positions of embeddings or rotary ones.
        mask_id: the id of [MASK].
    """

    def __init__(self, model: BERT, *, mask_id: int) -> None:
        super().__init__()
        is_model(model, BERT)
        check_id("mask_id", mask_id, model.vocab_size)
        block: Any = model.stack.blocks[0]
        self.positions = block.attention.positions
        if self.positions.changes_scores:
            raise ValueError(
                f"positions is {model.config.positions!r}; it counts distances along the row, in "
                "which two streams stand one after the other"
            )
        self.model, self.mask_id = model, mask_id

    def forward(
        self,
        ids: Int[Tensor, "B T"],
        *,
        ranks: Int[Tensor, "B T"],
        targets: Int[Tensor, "B T"] | None = None,
        segments: Int[Tensor, "B T"] | None = None,
        mask: Bool[Tensor, "B T"] | None = None,
    ) -> tuple[Float[Tensor, "B T V"], Float[Tensor, ""] | None]:
        """Score the token at each place; the loss is in nats per target that is not IGNORE.

        Args:
            ids: the text, nothing masked.
            ranks: when the token at each place has its turn; those of equal rank do not see each
                other.
            targets: `ids` where the loss is wanted: the last sixth of the order in the paper, since
                the first tokens are guessed from next to nothing.
            segments: as for BERT, as is `mask`.
            mask: False at padding.

        Raises:
            ValueError: if there is not one rank for each place.
        """
        equal_shapes(ids=ids, ranks=ranks)
        model, T = self.model, ids.shape[1]
        masked = torch.full_like(ids, self.mask_id)
        x = torch.cat([model.embed(ids, segments), model.embed(masked, segments)], dim=1)
        is_earlier = ranks.unsqueeze(1) < ranks.unsqueeze(2)  # (B, T, T): who looks, at whom
        itself = torch.eye(T, dtype=torch.bool, device=ids.device)
        sees = torch.cat([is_earlier | itself, is_earlier], dim=1)  # (B, 2 T, T): at contents
        if mask is not None:
            sees = sees & mask.unsqueeze(1)
        sees = F.pad(sees, (0, T))  # (B, 2 T, 2 T): nobody looks at a query
        rotation = self.positions.rotation(T, device=ids.device)
        if rotation is not None:
            rotation = torch.cat([rotation, rotation], dim=1)
        queries = model.stack(x, mask=sees, rotation=rotation)[:, T:]
        logits = model.token_logits(queries)
        return logits, None if targets is None else nats_per_target(logits, targets)
