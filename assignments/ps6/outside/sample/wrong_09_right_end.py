# wrong: the smallest id whose sum is at least u: a piece owns its right end.
# shows: u = 0 with p_0 = 0; u = 0.25 in the table.

import torch


def sample(probs, uniforms):
    found = torch.searchsorted(probs.double().cumsum(dim=1), uniforms[:, None]).squeeze(1)
    last = ((probs > 0) * torch.arange(probs.shape[1])).amax(dim=1)
    return torch.minimum(found, last)
