# wrong: divides by the larger of root mean square and eps.
# shows: vectors whose mean square is of the size of eps; zero stays zero, ordinary ones are nearly right.

import torch


def rms_norm(x, weight, eps):
    y = x.float() if x.dtype == torch.float16 else x
    m = y.square().mean(dim=-1, keepdim=True)
    return (y / m.clamp(min=eps).sqrt() * weight).to(x.dtype)
