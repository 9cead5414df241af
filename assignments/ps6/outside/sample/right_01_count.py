# right: counts the sums at most u; the last id above 0 is the limit.

import torch


def sample(probs, uniforms):
    found = (probs.double().cumsum(dim=1) <= uniforms[:, None]).sum(dim=1)
    last = torch.where(probs > 0, torch.arange(probs.shape[1]), 0).amax(dim=1)
    return torch.minimum(found, last)
