import torch


def causal_mask(n_queries, n_keys):
    later = torch.triu(torch.ones(n_queries, n_keys), diagonal=n_keys - n_queries + 1)
    return later == 0
