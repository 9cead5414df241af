# right: stacks the products and sums them; detach at the end.

import torch


def merge_lora(weight, adapters):
    parts = [torch.einsum("or,ri->oi", up, down) * alpha / up.size(1) for down, up, alpha in adapters]
    parts.append(weight if weight.dtype == torch.float64 else weight.float())
    return torch.stack(parts).sum(dim=0).to(weight.dtype).detach()
