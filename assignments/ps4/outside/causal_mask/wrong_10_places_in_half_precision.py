# wrong: numbers the places in float16 to save memory, which cannot tell 2048 from 2049; breaks "Each place sees itself and everything before it" where n_keys is "at most a few thousand"
# shows: causal_mask(2100, 2100)[2048, 2049] is True
import torch


def causal_mask(n_queries, n_keys):
    keys = torch.arange(n_keys).to(torch.float16)
    queries = keys[n_keys - n_queries :]
    return keys[None, :] <= queries[:, None]
