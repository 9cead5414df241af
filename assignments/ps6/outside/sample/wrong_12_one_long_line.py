# wrong: lays all rows on one line, one unit each: what a row lacks to 1 moves all rows behind it.
# shows: rows (0.5, 0.4999) and (0.5, 0.5), u = (0.1, 0.49995): the second draws id 1 instead of 0.

import torch


def sample(probs, uniforms):
    n = probs.shape[1]
    line = probs.double().reshape(-1).cumsum(0)
    flat = torch.searchsorted(line, uniforms + torch.arange(len(probs)), right=True)
    found = flat - n * torch.arange(len(probs))
    last = ((probs > 0) * torch.arange(n)).amax(dim=1)
    return torch.minimum(found.clamp(min=0), last)
