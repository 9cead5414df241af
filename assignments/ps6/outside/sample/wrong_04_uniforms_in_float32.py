# wrong: rounds the random numbers to the dtype of probs.
# shows: float32 probs (0.25, 0.75), u = 0.25 - 1e-12: id 1 instead of 0.

import torch


def sample(probs, uniforms):
    u = uniforms.to(probs.dtype).double()
    found = (probs.double().cumsum(dim=1) <= u[:, None]).sum(dim=1)
    last = ((probs > 0) * torch.arange(probs.shape[1])).amax(dim=1)
    return torch.minimum(found, last)
