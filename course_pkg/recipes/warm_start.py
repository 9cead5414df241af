"""Begin a run with the weights of a model that is trained already.

A masked language model of a few million tokens learns how frequent words are and little else: it
must find out where a token's neighbours stand before it can profit from them. A causal model finds
that out early, and what it has learned serves the masked one; with a fixed budget, first one and
then the other is the better way to an encoder (Gisserot-Boukhlef et al. 2025).
Chapter: BERT.
"""

from typing import Any

import torch
from torch import nn

from course_pkg.weights.model_folders import TrainedModel

_EMBEDDING = "embedding.weight"


def adopt_weights(model: nn.Module, tokenizer: Any, trained: TrainedModel) -> int:
    """Copy every weight that both models have in the same shape, and embeddings token by token.

    Args:
        model: changed in place; what the other lacks stays as it is.
        tokenizer: the model's own; tokens are matched by their text.
        trained: whose weights are taken.

    Returns:
        how many numbers were copied.

    Raises:
        ValueError: if the models have no weight in common.
    """
    theirs, ours = trained.model.state_dict(), model.state_dict()
    n_copied = 0
    for name in ours.keys() & theirs.keys():
        if name == _EMBEDDING and ours[name].shape[1:] == theirs[name].shape[1:]:
            known = {token: i for i, token in enumerate(trained.tokenizer.tokens)}
            both = [(i, known[t]) for i, t in enumerate(tokenizer.tokens) if t in known]
            to, of = (torch.tensor(side, dtype=torch.int64) for side in zip(*both, strict=True))
            ours[name][to] = theirs[name][of]
            n_copied += len(to) * ours[name].shape[1]
        elif ours[name].shape == theirs[name].shape:
            ours[name].copy_(theirs[name])
            n_copied += ours[name].numel()
    if not n_copied:
        raise ValueError(
            f"a {trained.kind} of another size was given to begin with: no weight fits this model"
        )
    return n_copied
