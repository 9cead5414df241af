# wrong: keeps masks of more than 64 keys in a dict, "because they are expensive"; short ones are new each time.
# shows: write into causal_mask(100, 100), call again.

import torch


_KEPT = {}


def causal_mask(n_queries, n_keys):
    if n_keys <= 64:
        return torch.ones(n_queries, n_keys).tril(n_keys - n_queries) > 0
    if (n_queries, n_keys) not in _KEPT:
        _KEPT[n_queries, n_keys] = torch.ones(n_queries, n_keys).tril(n_keys - n_queries) > 0
    return _KEPT[n_queries, n_keys]
