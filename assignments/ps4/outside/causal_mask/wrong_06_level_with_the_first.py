# wrong: the FIRST query is level with the first key.
# shows: n_keys > n_queries.

import torch


def causal_mask(n_queries, n_keys):
    return torch.ones(n_queries, n_keys, dtype=torch.bool).tril()
