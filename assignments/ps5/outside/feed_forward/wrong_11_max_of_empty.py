# wrong: asks for x.max() to choose a path: an error for an empty x.
# shows: x of shape (2, 0, D).

import torch


def feed_forward(x, weights):
    z = x @ weights["expand"].T
    if z.abs().max() > 50:
        s = torch.sigmoid(z)
    else:
        s = 1 / (1 + torch.exp(-z))
    return (z * s * (x @ weights["gate"].T)) @ weights["contract"].T
