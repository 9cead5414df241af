# wrong: returns a tensor of shape (), not a float.
# shows: type.

import torch


def clip_global_norm(gradients, max_norm):
    there = [g for g in gradients if g is not None]
    if not there:
        return 0.0
    norm = torch.stack([g.norm() for g in there]).norm()
    if norm > max_norm:
        for g in there:
            g.mul_(max_norm / norm)
    return norm
