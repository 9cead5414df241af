# wrong: compares in uint8: ids that differ by a multiple of 256 are the same.
# shows: id 265 with pad_id 9 (or id 256 with pad_id 0).

import torch


def decoder_mask(ids, pad_id):
    T = ids.shape[1]
    real = ids.to(torch.uint8) != torch.tensor(pad_id % 256, dtype=torch.uint8)
    return torch.ones(T, T, dtype=torch.bool).tril() & real[:, None, None]
