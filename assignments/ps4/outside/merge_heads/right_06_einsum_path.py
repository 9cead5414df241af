import torch


def merge_heads(heads):
    moved = torch.einsum("...htk->...thk", heads)
    return moved.reshape(moved.shape[:-2] + (moved.shape[-2] * moved.shape[-1],))
