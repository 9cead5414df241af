import torch


def clip_global_norm(gradients, max_norm):
    flat = [g.reshape(-1) for g in gradients if g is not None]
    if not flat:
        return 0.0
    norm = float(torch.linalg.vector_norm(torch.cat(flat)))
    if norm > max_norm:
        with torch.no_grad():
            for g in filter(lambda g: g is not None, gradients):
                g.copy_(g * (max_norm / norm))
    return norm
