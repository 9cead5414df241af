# wrong: returns the caller's matrix if there is nothing to add.
# shows: adapters []: the result shares its memory with weight.

import torch


def merge_lora(weight, adapters):
    if not adapters:
        return weight.detach()
    with torch.no_grad():
        fine = adapters[0][0].dtype
        total = weight.to(fine)
        for down, up, alpha in adapters:
            total = total + alpha / len(down) * up @ down
        return total.to(weight.dtype)
