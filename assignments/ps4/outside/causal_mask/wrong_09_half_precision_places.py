# wrong: compares places in float16, which cannot tell 2048 from 2049 nor count above 65504.
# shows: n_keys > 2049: some queries see the next place.

import torch


def causal_mask(n_queries, n_keys):
    keys = torch.arange(n_keys).half()
    return keys[n_keys - n_queries :, None] >= keys[None, :]
