# wrong: takes the gradients off the caller's own tensors.
# shows: down.requires_grad is False after the call.

import torch


def merge_lora(weight, adapters):
    weight = weight.detach()
    total = weight.double()
    for down, up, alpha in adapters:
        down.requires_grad_(False)
        up.requires_grad_(False)
        total = total + alpha / len(down) * up.double() @ down.double()
    return total.to(weight.dtype, copy=True)
