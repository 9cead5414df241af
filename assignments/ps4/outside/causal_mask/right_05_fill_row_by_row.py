import torch


def causal_mask(n_queries, n_keys):
    mask = torch.zeros(n_queries, n_keys, dtype=torch.bool)
    for t in range(n_queries):
        mask[t, : n_keys - n_queries + t + 1] = True
    return mask
