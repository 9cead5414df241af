# wrong: for the last id above 0 it counts the ids above 0.
# shows: probs (0, 0.5, 0.4999, 0), u = 0.99995: id 1 instead of 2.

import torch


def sample(probs, uniforms):
    found = (probs.double().cumsum(dim=1) <= uniforms[:, None]).sum(dim=1)
    last = (probs > 0).sum(dim=1) - 1
    return torch.where(found == probs.shape[1], last, found)
