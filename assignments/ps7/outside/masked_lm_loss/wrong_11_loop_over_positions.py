# wrong: a loop over the chosen positions, which the rules forbid (loss and gradients are right).
# shows: the source.

import torch


def masked_lm_loss(vectors, targets, table, bias):
    places = (targets != -100).nonzero().tolist()
    total = vectors[:0].sum() + table[:0].sum() + bias[:0].sum()
    for b, t in places:
        scores = table @ vectors[b, t] + bias
        total = total + torch.logsumexp(scores, 0) - scores[targets[b, t]]
    return total / max(1, len(places))
