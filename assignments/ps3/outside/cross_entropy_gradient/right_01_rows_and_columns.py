import torch


def cross_entropy_gradient(logits, targets, ignore_index):
    counts = targets != ignore_index
    rows = torch.arange(len(targets))[counts]
    gradient = torch.softmax(logits, dim=1)
    gradient[rows, targets[rows]] -= 1
    gradient[~counts] = 0
    return gradient / max(len(rows), 1)
