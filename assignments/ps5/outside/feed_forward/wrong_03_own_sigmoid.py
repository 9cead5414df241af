# wrong: 1 / (1 + e^-z) overflows for z = -1000: the value is 0, the gradient nan.
# shows: gradient with units of -1000 (float32: below -88).

import torch


def feed_forward(x, weights):
    z = x @ weights["expand"].T
    return (z / (1 + torch.exp(-z)) * (x @ weights["gate"].T)) @ weights["contract"].T
