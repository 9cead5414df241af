# right: the joint norm is math.hypot of the tensors' own norms; the shortened numbers are copied into the tensors
import math

import torch


def clip_global_norm(gradients, max_norm):
    there = list(filter(torch.is_tensor, gradients))
    norm = math.hypot(*(torch.linalg.vector_norm(x, dtype=torch.float64).item() for x in there))
    with torch.no_grad():
        for x in there if norm > max_norm else ():
            x.copy_(x.double() * (max_norm / norm))
    return norm
