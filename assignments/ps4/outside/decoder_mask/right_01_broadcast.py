import torch


def decoder_mask(ids, pad_id):
    T = ids.shape[1]
    causal = torch.ones(T, T, dtype=torch.bool).tril()
    return (ids != pad_id)[:, None, None, :] & causal
