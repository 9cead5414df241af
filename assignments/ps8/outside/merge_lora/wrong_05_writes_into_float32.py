# wrong: float() of a float32 matrix is that matrix; += writes into the caller's.
# shows: a float32 weight and one adapter: weight has changed.

import torch


def merge_lora(weight, adapters):
    with torch.no_grad():
        total = weight.clone() if weight.dtype == torch.float64 else weight.float()
        for down, up, alpha in adapters:
            total += alpha / len(down) * up @ down
        return total.to(weight.dtype).clone()
