import torch


def causal_mask(n_queries, n_keys):
    # a 1 stands one behind the last key that each query may see
    wall = torch.zeros(n_queries, n_keys + 1, dtype=torch.long)
    wall[torch.arange(n_queries), torch.arange(n_keys - n_queries + 1, n_keys + 1)] = 1
    return wall.cumsum(dim=1)[:, :n_keys].logical_not()
