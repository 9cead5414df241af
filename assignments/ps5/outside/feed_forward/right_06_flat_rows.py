from torch import nn


def feed_forward(x, weights):
    rows = x.reshape(-1, x.shape[-1])
    hidden = nn.SiLU()(rows.mm(weights["expand"].t())).mul(rows.mm(weights["gate"].t()))
    return hidden.mm(weights["contract"].t()).reshape(x.shape)
