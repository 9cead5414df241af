import torch
from torch.nn import functional as F


def feed_forward(x, weights):
    unit, gate = (F.linear(x, weights[name]) for name in ("expand", "gate"))
    return F.linear(unit * torch.sigmoid(unit) * gate, weights["contract"])
