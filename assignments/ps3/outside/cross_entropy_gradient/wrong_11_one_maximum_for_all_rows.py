# wrong: subtracts the largest score of the whole batch, so a row far below it becomes 0 / 0; breaks "p the softmax of the row" where, as in task 3, scores may be "very large, very small, and far apart"
# shows: logits [[1000, 1000], [-1000, -1000]]: the second row is nan
import torch


def cross_entropy_gradient(logits, targets, ignore_index):
    e = (logits - logits.max()).exp()
    p = e / e.sum(dim=1, keepdim=True)
    (rows,) = torch.where(targets != ignore_index)
    p[rows, targets[rows]] -= 1
    gradient = torch.zeros_like(logits)
    gradient[rows] = p[rows] / max(len(rows), 1)
    return gradient
