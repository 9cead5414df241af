# right: a fine copy, adds each product, rounds at the end.

import torch


def merge_lora(weight, adapters):
    fine = torch.float64 if weight.dtype == torch.float64 else torch.float32
    with torch.no_grad():
        total = weight.to(fine, copy=True)
        for down, up, alpha in adapters:
            total += alpha / down.shape[0] * (up @ down)
        return total.to(weight.dtype)
