import torch


def merge_heads(heads: torch.Tensor) -> torch.Tensor:
    *lead, H, T, K = heads.shape
    x = heads.new_empty(*lead, T, H * K)
    for h in range(H):
        x[..., h * K : (h + 1) * K] = heads[..., h, :, :]
    return x
