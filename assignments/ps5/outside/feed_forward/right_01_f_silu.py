from torch.nn import functional as F


def feed_forward(x, weights):
    hidden = F.silu(x @ weights["expand"].T) * (x @ weights["gate"].T)
    return hidden @ weights["contract"].T
