# right: var_mean, where for the sides, gather for the tokens.

import torch


def embed(ids, segments, weights):
    table = weights["token"]
    flat = ids.reshape(-1, 1).expand(-1, table.shape[1])
    x = table.gather(0, flat).reshape(*ids.shape, -1)
    zero, one = weights["segment"].unbind(0)
    side = zero if segments is None else torch.where(segments.unsqueeze(-1) == 1, one, zero)
    x = x + side + weights["position"][torch.arange(ids.size(1))]
    variance, mean = torch.var_mean(x, dim=-1, correction=0, keepdim=True)
    return torch.addcmul(weights["norm_bias"], (x - mean) / torch.sqrt(variance + 1e-12), weights["norm_weight"])
