# right: addmm one adapter after the other, in a recursion-free fold.

from functools import reduce

import torch


def merge_lora(weight, adapters):
    fine = torch.promote_types(weight.dtype, torch.float32)
    start = weight.detach().to(fine)
    total = reduce(
        lambda t, a: torch.addmm(t, a[1].detach(), a[0].detach(), alpha=a[2] / a[1].shape[1]),
        adapters,
        start,
    )
    return total.to(weight.dtype, copy=True)
