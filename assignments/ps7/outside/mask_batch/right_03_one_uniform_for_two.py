# right: one float64 number for choice and die: below 0.15 it is spread evenly, in ten parts.

import torch


def mask_batch(ids, special_ids, vocab_size, mask_id, generator):
    u = torch.rand(ids.shape, generator=generator, dtype=torch.float64)
    for special in special_ids:
        u = torch.where(ids == special, 1.0, u)
    chosen = u < 0.15
    weights = torch.ones(vocab_size)
    weights[special_ids] = 0
    other = torch.multinomial(weights, ids.numel(), replacement=True, generator=generator)
    seen = torch.where(u < 0.15 * 0.8, mask_id, ids)
    middle = (u >= 0.15 * 0.8) & (u < 0.15 * 0.9)
    return torch.where(middle, other.reshape(ids.shape), seen), torch.where(chosen, ids, -100)
