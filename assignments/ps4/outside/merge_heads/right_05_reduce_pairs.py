import torch
import functools


def merge_heads(heads):
    parts = [heads.select(-3, h) for h in range(heads.shape[-3])]
    return functools.reduce(lambda left, right: torch.cat((left, right), -1), parts)
