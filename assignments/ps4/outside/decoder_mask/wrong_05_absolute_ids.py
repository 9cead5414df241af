# wrong: compares absolute values, "as padding may be negative": id 1 is hidden where pad_id is -1.
# shows: pad_id negative and its opposite in the text.

import torch


def decoder_mask(ids, pad_id):
    T = ids.shape[-1]
    real = ids.abs() != abs(pad_id)
    return torch.ones(T, T, dtype=torch.bool).tril()[None, None] & real[:, None, None, :]
