# wrong: knows one axis and three.
# shows: x of shape (2, 5) or (2, 3, 4, 5): ValueError of einsum.

import torch


def lora_layer(x, weight, bias, down, up, alpha):
    weight = weight.detach()
    if x.dim() == 1:
        y = weight @ x + alpha / len(down) * (up @ (down @ x))
    else:
        thin = torch.einsum("bti,ri->btr", x, down)
        thin = torch.einsum("btr,or->bto", thin, up)
        y = torch.einsum("bti,oi->bto", x, weight) + alpha / len(down) * thin
    return y if bias is None else y + bias.detach()
