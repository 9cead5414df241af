# wrong: one scale for all: the sum of the products times the sum of alphas by the sum of ranks.
# shows: two adapters of different alpha.

import torch


def merge_lora(weight, adapters):
    if not adapters:
        return weight.detach().clone()
    with torch.no_grad():
        down = torch.cat([a[0] for a in adapters])
        up = torch.cat([a[1] for a in adapters], dim=1)
        scale = sum(a[2] for a in adapters) / down.shape[0]
        return (weight.to(down.dtype) + scale * up @ down).to(weight.dtype)
