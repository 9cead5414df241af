# wrong: the stable sigmoid by torch.where, which computes BOTH branches: values right, gradients nan (0 * inf).
# shows: gradients at units of +-1000.

import torch


def feed_forward(x, weights):
    z = x @ weights["expand"].T
    s = torch.where(z >= 0, 1 / (1 + torch.exp(-z)), torch.exp(z) / (1 + torch.exp(z)))
    s = torch.nan_to_num(s)
    return (z * s * (x @ weights["gate"].T)) @ weights["contract"].T
