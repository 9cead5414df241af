# right: a weight for each row, 1/n or 0; the softmax times it, minus it at the target by scatter_add
import torch


def cross_entropy_gradient(logits, targets, ignore_index):
    ignored = targets.eq(ignore_index)
    n = targets.numel() - int(ignored.sum())
    weight = logits.new_full((targets.numel(), 1), 1 / n if n else 0.0)
    weight = weight.masked_fill(ignored.unsqueeze(1), 0)
    columns = targets.masked_fill(ignored, 0).unsqueeze(1)
    return (logits.softmax(1) * weight).scatter_add(1, columns, -weight)
