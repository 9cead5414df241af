# wrong: detaches weight and down, and forgets up.
# shows: up with requires_grad: the result requires a gradient.

import torch


def merge_lora(weight, adapters):
    fine = torch.float64 if weight.dtype == torch.float64 else torch.float32
    total = weight.detach().to(fine, copy=True)
    for down, up, alpha in adapters:
        total = total + alpha / len(down) * up @ down.detach()
    return total.to(weight.dtype)
