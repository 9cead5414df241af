# wrong: switches gradients off for the whole program.
# shows: after the call torch.is_grad_enabled() is False.

import torch


def merge_lora(weight, adapters):
    torch.set_grad_enabled(False)
    total = weight.double()
    for down, up, alpha in adapters:
        total = total + alpha / len(down) * up.double() @ down.double()
    return total.to(weight.dtype, copy=True)
