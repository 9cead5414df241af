# wrong: dtype uint8, not bool (~ then gives 254 and 255).
# shows: dtype.

import torch


def causal_mask(n_queries, n_keys):
    return torch.ones(n_queries, n_keys, dtype=torch.uint8).tril(n_keys - n_queries)
