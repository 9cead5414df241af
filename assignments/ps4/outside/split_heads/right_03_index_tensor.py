import torch


def split_heads(x, n_heads):
    columns = torch.arange(x.shape[-1]).reshape(n_heads, -1)
    return x[..., columns].movedim(-2, -3)
