# wrong: lru_cache hands out the same tensor again.
# shows: write into the result and call again with the same numbers.

import torch
from functools import lru_cache


@lru_cache(maxsize=None)
def causal_mask(n_queries, n_keys):
    return torch.ones(n_queries, n_keys, dtype=torch.bool).tril(n_keys - n_queries)
