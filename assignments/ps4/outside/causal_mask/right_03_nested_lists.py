import torch


def causal_mask(n_queries, n_keys):
    first = n_keys - n_queries
    return torch.tensor([[s <= first + t for s in range(n_keys)] for t in range(n_queries)])
