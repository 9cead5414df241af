# wrong: a copy of a corner of a fixed mask of 1024 places: more keys than that give a wrong shape.
# shows: n_keys > 1024.

import torch


_PLACES = 1024
_ALL = torch.arange(_PLACES)[:, None] >= torch.arange(_PLACES)


def causal_mask(n_queries, n_keys):
    return _ALL[n_keys - n_queries : n_keys, :n_keys].clone()
