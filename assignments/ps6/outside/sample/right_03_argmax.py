# right: the first True is the argmax; the last id above 0 gets an infinite sum.

import torch


def sample(probs, uniforms):
    places = torch.arange(probs.shape[1]).expand(probs.shape)
    last = places.masked_fill(probs == 0, -1).amax(dim=1, keepdim=True)
    sums = probs.double().cumsum(dim=1).masked_fill(places >= last, torch.inf)
    return (sums > uniforms.unsqueeze(1)).to(torch.uint8).argmax(dim=1)
