# right: logsumexp minus the score of the target, by dot products with the target's own row.

import torch


def masked_lm_loss(vectors, targets, table, bias):
    rows, columns = (targets != -100).nonzero(as_tuple=True)
    x, y = vectors[rows, columns], targets[rows, columns]
    whole = torch.logsumexp(x @ table.T + bias, dim=-1)
    right = (x * table[y]).sum(dim=-1) + bias[y]
    return (whole - right).sum() / max(len(rows), 1)
