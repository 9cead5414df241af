# right: searchsorted from the right; argmax of the flipped row for the last one.

import torch


def sample(probs, uniforms):
    sums = probs.to(torch.float64).cumsum(-1).contiguous()
    found = torch.searchsorted(sums, uniforms.reshape(-1, 1).contiguous(), right=True).flatten()
    last = probs.shape[1] - 1 - (probs > 0).long().flip(1).argmax(1)
    return torch.where(found > last, last, found)
