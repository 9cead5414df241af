# right: the smallest place whose sum is above u, else V; then the last above 0.

import torch


def sample(probs, uniforms):
    n = probs.shape[1]
    sums = torch.cumsum(probs, dim=1, dtype=torch.float64)
    places = torch.arange(n)
    first = torch.where(sums > uniforms[:, None], places, n).amin(dim=1)
    last = (places * (probs > 0)).amax(dim=1)
    return first.clamp(max=last)
