import math
import torch


def attend(query, key, value, mask=None):
    scores = torch.einsum("...tk,...sk->...ts", query, key) / key.shape[-1] ** 0.5
    if mask is None:
        mask = torch.ones_like(scores, dtype=torch.bool)
    hidden = scores.masked_fill(~mask, -math.inf)
    top = hidden.detach().amax(dim=-1, keepdim=True)
    top = torch.where(top.isinf(), torch.zeros_like(top), top)
    e = torch.exp(hidden - top)
    total = e.sum(dim=-1, keepdim=True)
    total = torch.where(total == 0, torch.ones_like(total), total)
    return torch.einsum("...ts,...sm->...tm", e / total, value)
