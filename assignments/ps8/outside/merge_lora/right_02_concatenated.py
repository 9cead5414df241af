# right: all adapters as one of a higher rank.

import torch


def merge_lora(weight, adapters):
    if not adapters:
        return weight.detach().clone()
    downs = torch.cat([down.detach() for down, _, _ in adapters], dim=0)
    ups = torch.cat([up.detach() * (alpha / up.shape[1]) for _, up, alpha in adapters], dim=1)
    return torch.addmm(weight.detach().to(downs.dtype), ups, downs).to(weight.dtype)
