import math


def clip_global_norm(gradients, max_norm):
    there = [gradient for gradient in gradients if gradient is not None]
    norm = math.sqrt(sum(gradient.double().square().sum().item() for gradient in there))
    if norm > max_norm:
        for gradient in there:
            gradient *= max_norm / norm
    return norm
