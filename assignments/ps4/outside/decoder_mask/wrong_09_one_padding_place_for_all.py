# wrong: hides a column for ALL texts if it is padding in any of them.
# shows: B > 1 with different padding.

import torch


def decoder_mask(ids, pad_id):
    B, T = ids.shape
    real = (ids != pad_id).all(dim=0)
    mask = torch.ones(T, T, dtype=torch.bool).tril() & real
    return mask.expand(B, 1, T, T)
