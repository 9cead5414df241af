# wrong: softmax-like normalisation over positions: divides by the largest unit of the batch "for stability" and multiplies back after silu.
# shows: everywhere but where the largest unit is 1 (silu is not linear).

from torch.nn import functional as F


def feed_forward(x, weights):
    z = x @ weights["expand"].T
    top = z.abs().max().clamp(min=1.0) if z.numel() else 1.0
    return (F.silu(z / top) * top * (x @ weights["gate"].T)) @ weights["contract"].T
