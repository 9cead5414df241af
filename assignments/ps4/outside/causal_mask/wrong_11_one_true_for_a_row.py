# wrong: a single query gets one True that is expanded over all keys, so writing into one place writes into all (or is an error); breaks "The result is a new tensor in every call: the caller may write into it."
# shows: mask = causal_mask(1, 4); mask[0, 0] = False changes mask[0, 3] too
import torch


def causal_mask(n_queries, n_keys):
    if n_queries == 1:
        return torch.ones(1, 1, dtype=torch.bool).expand(1, n_keys)
    return torch.ones(n_queries, n_keys, dtype=torch.bool).tril(n_keys - n_queries)
