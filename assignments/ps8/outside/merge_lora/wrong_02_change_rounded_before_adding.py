# wrong: sums the change finely, but rounds it before it is added: two roundings.
# shows: bfloat16, weight 1, one adapter of 0.0039063: rounded to 0.00390625, the sum is a tie and stays 1; right is 1.0078125.

import torch


def merge_lora(weight, adapters):
    with torch.no_grad():
        change = sum(alpha / len(down) * up @ down for down, up, alpha in adapters)
        if not adapters:
            return weight.clone()
        return weight + change.to(weight.dtype)
