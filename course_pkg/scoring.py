"""What a model makes of a text as it stands, with nothing trained for the question.

A masked model gives no probability to a text, yet it has an opinion of each token given all others:
their sum is the pseudo-log-likelihood. A causal model chooses among answers by how probable each
makes its words. And of two sentences that differ in one respect, either shows which it prefers.
Chapters: BERT, what pretraining teaches, assistants. Salazar et al. 2020; Brown et al. 2020;
Nangia et al. 2020.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from course_pkg.evaluation import perplexity
from course_pkg.models.bert import BERT


@torch.no_grad()
def pseudo_log_probs(
    model: BERT,
    documents: Sequence[Sequence[int]],
    *,
    mask_id: int,
    first_id: int,
    last_id: int,
    batch_size: int = 64,
) -> list[Float[Tensor, " T"]]:
    """Return each token's log-probability given all others: it alone is masked, and predicted.

    Salazar et al. 2020, eq. 2. A document of T tokens is read T times, so the cost is quadratic.

    Args:
        model: a BERT with heads; it is asked in evaluation mode and left in the mode it had.
        documents: token ids, at least one each, without anything around them.
        mask_id: the id of [MASK].
        first_id: what stands before a text in training, [CLS]; it is read, not scored.
        last_id: what stands after it, [SEP]; likewise.
        batch_size: masked copies read at once; changes no result beyond rounding.

    Returns:
        for each document its tokens' log-probabilities: nats, float64, on the CPU.

    Raises:
        ValueError: an empty document, or one longer than the context.
    """
    longest = model.context_length - 2
    for number, document in enumerate(documents):
        if not 1 <= len(document) <= longest:
            raise ValueError(
                f"document {number} has {len(document)} tokens; it must have 1 to {longest}: a "
                f"context of {model.context_length} without the tokens at its two ends"
            )
    device = model.embedding.weight.device
    was_training = model.training
    model.eval()
    try:
        scores = []
        for document in documents:
            ids = torch.tensor([first_id, *document, last_id], device=device)
            places = torch.arange(1, len(ids) - 1, device=device)
            copies = ids.repeat(len(places), 1)  # (T, T + 2): in row t, token t is masked
            copies[places - 1, places] = mask_id
            vectors = torch.cat(
                [
                    model.encode(some)[torch.arange(len(some), device=device), at]
                    for some, at in zip(
                        copies.split(batch_size), places.split(batch_size), strict=True
                    )
                ]
            )
            log_probs = model.token_logits(vectors).double().log_softmax(dim=-1)
            scores.append(log_probs[places - 1, ids[places]].cpu())
    finally:
        model.train(was_training)
    return scores


def pseudo_perplexity(
    model: BERT,
    documents: Sequence[Sequence[int]],
    *,
    mask_id: int,
    first_id: int,
    last_id: int,
    batch_size: int = 64,
) -> float:
    """Return exp of minus the mean of `pseudo_log_probs`: Salazar et al. 2020, eq. 4.

    Each token is predicted from both sides, with far more to go by than a language model has: this
    number orders masked models, and must not be set beside a perplexity. The arguments are those of
    `pseudo_log_probs`.

    Raises:
        ValueError: no document, an empty one, or one longer than the context.
    """
    scores = pseudo_log_probs(
        model,
        documents,
        mask_id=mask_id,
        first_id=first_id,
        last_id=last_id,
        batch_size=batch_size,
    )
    return perplexity(torch.cat([torch.empty(0, dtype=torch.float64), *scores]))
