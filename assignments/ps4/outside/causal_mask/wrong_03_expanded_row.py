# wrong: for a single query it returns one True, expanded over all keys: the caller cannot write into it.
# shows: m = causal_mask(1, 3); m[0, 0] = False (an error, or all three change).

import torch


def causal_mask(n_queries, n_keys):
    if n_queries == 1:
        return torch.ones(1, 1, dtype=torch.bool).expand(1, n_keys)
    q = torch.arange(n_keys - n_queries, n_keys)
    return torch.arange(n_keys) <= q.unsqueeze(1)
