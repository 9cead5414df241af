# right: all False first, then the start of each row is set, from the last query upwards
import torch


def causal_mask(n_queries, n_keys):
    mask = torch.zeros((n_queries, n_keys), dtype=torch.bool)
    for back in range(n_queries):
        mask[-1 - back, : n_keys - back] = True
    return mask
