# wrong: if u is above the sum, takes the place where the sum first reaches its last value.
# shows: float64 (0.5, 0.4999, 1e-20), u = 0.99995: id 1; the last id above 0 is 2.

import torch


def sample(probs, uniforms):
    sums = probs.double().cumsum(dim=1)
    whole = sums[:, -1:]
    below = torch.nextafter(whole, torch.zeros_like(whole))
    u = torch.minimum(uniforms[:, None], below)
    return torch.searchsorted(sums, u, right=True)[:, 0]
