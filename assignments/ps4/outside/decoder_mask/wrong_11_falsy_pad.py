# wrong: pad_id 0 is taken for "no padding".
# shows: pad_id = 0 with zeros in the text.

import torch


def decoder_mask(ids, pad_id):
    T = ids.shape[1]
    mask = torch.ones(T, T, dtype=torch.bool).tril().repeat(ids.shape[0], 1, 1, 1)
    if pad_id:
        mask &= (ids != pad_id)[:, None, None, :]
    return mask
