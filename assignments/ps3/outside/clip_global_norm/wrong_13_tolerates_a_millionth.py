# wrong: clips only if the norm is above max_norm by more than 0.000001, to pass over rounding; breaks "If it is above max_norm, multiply every tensor" where "Norms from 10^-6 to 10^12 occur"
# shows: gradients [1.5e-6], max_norm 1e-6: nothing is clipped
import math


def clip_global_norm(gradients, max_norm):
    present = [gradient for gradient in gradients if gradient is not None]
    norm = math.sqrt(sum(gradient.double().square().sum().item() for gradient in present))
    if norm - max_norm > 1e-6:
        for gradient in present:
            gradient.mul_(max_norm / norm)
    return norm
