# wrong: rows of padding are all False; they should look where all others may.
# shows: padding after a real id: [5, 9, 7], query 1.

import torch


def decoder_mask(ids, pad_id):
    T = ids.shape[1]
    real = ids != pad_id
    both = real[:, None, None, :] & real[:, None, :, None]
    return both & torch.ones(T, T, dtype=torch.bool).tril()
