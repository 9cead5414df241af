import torch


def split_heads(x: torch.Tensor, n_heads: int) -> torch.Tensor:
    K = x.size(-1) // n_heads
    return x.mT.unflatten(-2, (n_heads, K)).mT
