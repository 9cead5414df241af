# wrong: a slice of ONE mask of 512 x 512 that lives in the module: writing into a result changes later results; and T > 512 fails.
# shows: write into a result, call again; n_keys > 512.

import torch


_BIG = torch.ones(512, 512, dtype=torch.bool).tril()


def causal_mask(n_queries, n_keys):
    return _BIG[n_keys - n_queries : n_keys, :n_keys]
