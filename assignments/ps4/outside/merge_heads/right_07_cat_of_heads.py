# right: takes the heads apart along their axis and lays them side by side
import torch


def merge_heads(heads):
    return torch.cat(heads.unbind(-3), dim=-1)
