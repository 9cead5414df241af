# wrong: gives each tensor new memory through .data, so whoever shares the old memory sees no change; breaks "multiply every tensor in place"
# shows: flat = torch.tensor([3.0, 4.0]); clip_global_norm([flat[:1], flat[1:]], 1.0) leaves flat as it was
import torch


def clip_global_norm(gradients, max_norm):
    present = [gradient for gradient in gradients if gradient is not None]
    norm = sum(float(gradient.double().pow(2).sum()) for gradient in present) ** 0.5
    if norm > max_norm:
        for gradient in present:
            gradient.data = gradient.data * (max_norm / norm)
    return norm
