# %% right: Cuts a triangle out of ones.
def causal_mask(n_queries, n_keys):
    return torch.ones(n_queries, n_keys, dtype=torch.bool).tril(diagonal=n_keys - n_queries)


# %% right: Inverts the triangle of what is to come.
def causal_mask(n_queries, n_keys):
    future = torch.triu(torch.ones(n_queries, n_keys), diagonal=n_keys - n_queries + 1)
    return future == 0


# %% right: Makes the square mask of all keys, and takes its last rows.
def causal_mask(n_queries, n_keys):
    square = torch.tril(torch.ones((n_keys, n_keys), dtype=torch.bool))
    return square[n_keys - n_queries :].clone()


# %% right: Writes row by row.
def causal_mask(n_queries, n_keys):
    mask = torch.zeros(n_queries, n_keys, dtype=torch.bool)
    for t in range(n_queries):
        mask[t, : n_keys - n_queries + t + 1] = True
    return mask


# %% right: Makes a list of lists.
def causal_mask(n_queries, n_keys):
    first = n_keys - n_queries
    return torch.tensor([[s <= first + t for s in range(n_keys)] for t in range(n_queries)])


# %% right: Puts what is past before a square triangle.
def causal_mask(n_queries, n_keys):
    past = torch.full((n_queries, n_keys - n_queries), True)
    return torch.cat([past, torch.ones(n_queries, n_queries).tril().bool()], dim=1)


# %% right: Asks NumPy for the triangle.
import numpy as np


def causal_mask(n_queries, n_keys):
    return torch.from_numpy(np.tri(n_queries, n_keys, k=n_keys - n_queries, dtype=bool))


# %% right: tril diagonal
import torch


def causal_mask(n_queries, n_keys):
    return torch.ones(n_queries, n_keys, dtype=torch.bool).tril(diagonal=n_keys - n_queries)


# %% right: compare places
import torch


def causal_mask(n_queries: int, n_keys: int) -> torch.Tensor:
    key_places = torch.arange(n_keys)
    query_places = torch.arange(n_queries) + (n_keys - n_queries)
    return key_places.unsqueeze(0) <= query_places.unsqueeze(1)


# %% right: nested lists
import torch


def causal_mask(n_queries, n_keys):
    first = n_keys - n_queries
    return torch.tensor([[s <= first + t for s in range(n_keys)] for t in range(n_queries)])


# %% right: not triu
import torch


def causal_mask(n_queries, n_keys):
    later = torch.triu(torch.ones(n_queries, n_keys), diagonal=n_keys - n_queries + 1)
    return later == 0


# %% right: fill row by row
import torch


def causal_mask(n_queries, n_keys):
    mask = torch.zeros(n_queries, n_keys, dtype=torch.bool)
    for t in range(n_queries):
        mask[t, : n_keys - n_queries + t + 1] = True
    return mask


# %% right: cumulative sum
import torch


def causal_mask(n_queries, n_keys):
    # a 1 stands one behind the last key that each query may see
    wall = torch.zeros(n_queries, n_keys + 1, dtype=torch.long)
    wall[torch.arange(n_queries), torch.arange(n_keys - n_queries + 1, n_keys + 1)] = 1
    return wall.cumsum(dim=1)[:, :n_keys].logical_not()


# %% right: row by row
# all False first, then the start of each row is set, from the last query upwards
import torch


def causal_mask(n_queries, n_keys):
    mask = torch.zeros((n_queries, n_keys), dtype=torch.bool)
    for back in range(n_queries):
        mask[-1 - back, : n_keys - back] = True
    return mask


# %% wrong: view of a big one
# a slice of ONE mask of 512 x 512 that lives in the module: writing into a result changes later results; and T > 512 fails.
# shows: write into a result, call again; n_keys > 512.

import torch


_BIG = torch.ones(512, 512, dtype=torch.bool).tril()


def causal_mask(n_queries, n_keys):
    return _BIG[n_keys - n_queries : n_keys, :n_keys]


# %% wrong: hard coded size
# a copy of a corner of a fixed mask of 1024 places: more keys than that give a wrong shape.
# shows: n_keys > 1024.

import torch


_PLACES = 1024
_ALL = torch.arange(_PLACES)[:, None] >= torch.arange(_PLACES)


def causal_mask(n_queries, n_keys):
    return _ALL[n_keys - n_queries : n_keys, :n_keys].clone()


# %% wrong: expanded row
# for a single query it returns one True, expanded over all keys: the caller cannot write into it.
# shows: m = causal_mask(1, 3); m[0, 0] = False (an error, or all three change).

import torch


def causal_mask(n_queries, n_keys):
    if n_queries == 1:
        return torch.ones(1, 1, dtype=torch.bool).expand(1, n_keys)
    q = torch.arange(n_keys - n_queries, n_keys)
    return torch.arange(n_keys) <= q.unsqueeze(1)


# %% wrong: cached
# lru_cache hands out the same tensor again.
# shows: write into the result and call again with the same numbers.

import torch
from functools import lru_cache


@lru_cache(maxsize=None)
def causal_mask(n_queries, n_keys):
    return torch.ones(n_queries, n_keys, dtype=torch.bool).tril(n_keys - n_queries)


# %% wrong: cached if long
# keeps masks of more than 64 keys in a dict, "because they are expensive"; short ones are new each time.
# shows: write into causal_mask(100, 100), call again.

import torch


_KEPT = {}


def causal_mask(n_queries, n_keys):
    if n_keys <= 64:
        return torch.ones(n_queries, n_keys).tril(n_keys - n_queries) > 0
    if (n_queries, n_keys) not in _KEPT:
        _KEPT[n_queries, n_keys] = torch.ones(n_queries, n_keys).tril(n_keys - n_queries) > 0
    return _KEPT[n_queries, n_keys]


# %% wrong: level with the first
# the FIRST query is level with the first key.
# shows: n_keys > n_queries.

import torch


def causal_mask(n_queries, n_keys):
    return torch.ones(n_queries, n_keys, dtype=torch.bool).tril()


# %% wrong: remainder
# shifts the triangle by n_keys % n_queries in place of the difference.
# shows: n_keys >= 2 * n_queries; (3, 5) is still right.

import torch


def causal_mask(n_queries, n_keys):
    return torch.tril(torch.ones(n_queries, n_keys), diagonal=n_keys % n_queries).bool()


# %% wrong: bytes not bool
# dtype uint8, not bool (~ then gives 254 and 255).
# shows: dtype.

import torch


def causal_mask(n_queries, n_keys):
    return torch.ones(n_queries, n_keys, dtype=torch.uint8).tril(n_keys - n_queries)


# %% wrong: half precision places
# compares places in float16, which cannot tell 2048 from 2049 nor count above 65504.
# shows: n_keys > 2049: some queries see the next place.

import torch


def causal_mask(n_queries, n_keys):
    keys = torch.arange(n_keys).half()
    return keys[n_keys - n_queries :, None] >= keys[None, :]


# %% wrong: places in half precision
# numbers the places in float16 to save memory, which cannot tell 2048 from 2049; breaks "Each place sees itself and everything before it" where n_keys is "at most a few thousand"
# shows: causal_mask(2100, 2100)[2048, 2049] is True
import torch


def causal_mask(n_queries, n_keys):
    keys = torch.arange(n_keys).to(torch.float16)
    queries = keys[n_keys - n_queries :]
    return keys[None, :] <= queries[:, None]


# %% wrong: one true for a row
# a single query gets one True that is expanded over all keys, so writing into one place writes into all (or is an error); breaks "The result is a new tensor in every call: the caller may write into it."
# shows: mask = causal_mask(1, 4); mask[0, 0] = False changes mask[0, 3] too
import torch


def causal_mask(n_queries, n_keys):
    if n_queries == 1:
        return torch.ones(1, 1, dtype=torch.bool).expand(1, n_keys)
    return torch.ones(n_queries, n_keys, dtype=torch.bool).tril(n_keys - n_queries)
