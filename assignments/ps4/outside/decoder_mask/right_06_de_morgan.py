import torch


def decoder_mask(ids, pad_id):
    T = ids.shape[-1]
    later = torch.ones(T, T, dtype=torch.bool).triu(1)
    return ~(later[None, None] | (ids == pad_id)[:, None, None])
