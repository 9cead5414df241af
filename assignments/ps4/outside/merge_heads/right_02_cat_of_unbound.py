import torch


def merge_heads(heads):
    return torch.cat(heads.unbind(dim=-3), dim=-1)
