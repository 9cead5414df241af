# tanh z = 2 sigma(2 z) - 1

import torch


def elman_step(inputs, hidden, weight_ih, weight_hh, bias_ih, bias_hh):
    z = torch.einsum("be,re->br", inputs, weight_ih) + torch.einsum("bs,rs->br", hidden, weight_hh)
    return 2 * torch.sigmoid(2 * (z + bias_ih + bias_hh)) - 1
