# wrong: rounds after each adapter.
# shows: the example by hand.

import torch


def merge_lora(weight, adapters):
    total = weight.detach().clone()
    with torch.no_grad():
        for down, up, alpha in adapters:
            total += alpha / len(down) * up @ down
    return total
