# wrong: a text that is padding throughout gets the plain triangle, "so that softmax does not fail"; its rows must be all False.
# shows: a row of ids that are all pad_id.

import torch


def decoder_mask(ids, pad_id):
    B, T = ids.shape
    real = ids != pad_id
    real = real | ~real.any(dim=1, keepdim=True)
    causal = torch.ones(T, T, dtype=torch.bool).tril()
    return causal & real[:, None, None, :]
