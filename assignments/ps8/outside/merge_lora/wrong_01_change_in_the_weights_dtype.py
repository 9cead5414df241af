# wrong: sums the change in the weight's dtype.
# shows: bfloat16, weight 1, 300 adapters of 0.003: the sum of changes stops growing.

import torch


def merge_lora(weight, adapters):
    with torch.no_grad():
        change = torch.zeros_like(weight)
        for down, up, alpha in adapters:
            change = (change + alpha / len(down) * up @ down).to(weight.dtype)
        return weight + change
