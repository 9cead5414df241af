# right: everything in float64.

import torch


@torch.no_grad()
def merge_lora(weight, adapters):
    change = torch.zeros(weight.shape, dtype=torch.float64)
    for down, up, alpha in adapters:
        change = change + (up.double() * alpha) @ down.double() / len(down)
    return (weight.double() + change).to(weight.dtype)
