import math
import torch


def clip_global_norm(gradients: list, max_norm: float) -> float:
    there = [g for g in gradients if g is not None]
    norm = math.sqrt(math.fsum(float(torch.sum(g * g, dtype=torch.float64)) for g in there))
    if there and norm > max_norm:
        torch._foreach_mul_(there, max_norm / norm)
    return norm
