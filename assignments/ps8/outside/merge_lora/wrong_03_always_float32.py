# wrong: computes in float32 also if weight is float64.
# shows: float64: right to 7 digits only.

import torch


def merge_lora(weight, adapters):
    with torch.no_grad():
        total = weight.float().clone()
        for down, up, alpha in adapters:
            total += alpha / len(down) * up.float() @ down.float()
        return total.to(weight.dtype)
