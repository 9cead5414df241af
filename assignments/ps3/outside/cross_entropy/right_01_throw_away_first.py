import torch


def cross_entropy(logits, targets, ignore_index):
    counts = targets != ignore_index
    rows, wanted = logits[counts], targets[counts]
    if len(wanted) == 0:
        return (logits * 0).sum()
    rows = rows - rows.max(dim=1, keepdim=True).values
    surprise = rows.exp().sum(dim=1).log() - rows[torch.arange(len(wanted)), wanted]
    return surprise.mean()
