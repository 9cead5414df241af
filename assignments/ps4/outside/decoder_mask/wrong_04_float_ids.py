# wrong: compares in float32, where 16777216 and 16777217 are equal.
# shows: ids above 2**24 beside a pad_id next to them.

import torch


def decoder_mask(ids, pad_id):
    T = ids.shape[1]
    real = (ids.float() - pad_id).abs() > 0
    return torch.tril(torch.ones(T, T)).bool() & real[:, None, None, :]
