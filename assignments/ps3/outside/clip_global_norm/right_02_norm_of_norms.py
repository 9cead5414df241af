import math


def clip_global_norm(gradients, max_norm):
    norms = [g.norm().item() for g in gradients if g is not None]
    norm = math.hypot(*norms)
    factor = max_norm / norm if norm > max_norm else None
    for g in gradients:
        if g is not None and factor is not None:
            g.mul_(factor)
    return norm
