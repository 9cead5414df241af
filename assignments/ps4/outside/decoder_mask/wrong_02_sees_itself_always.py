# wrong: a place always sees itself, even padding (mask | diagonal).
# shows: any padding, on the diagonal.

import torch


def decoder_mask(ids, pad_id):
    T = ids.shape[1]
    mask = torch.ones(T, T, dtype=torch.bool).tril() & (ids != pad_id)[:, None, None, :]
    return mask | torch.eye(T, dtype=torch.bool)
