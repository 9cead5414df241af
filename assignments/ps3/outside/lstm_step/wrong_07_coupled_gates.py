# wrong: the input gate is 1 minus the forget gate: its own block is not used.
# shows: everywhere but where sigma(i) = 1 - sigma(f).

import torch


def lstm_step(inputs, state, weight_ih, weight_hh, bias_ih, bias_hh):
    h, c = state
    _, f, g, o = (inputs @ weight_ih.T + bias_ih + h @ weight_hh.T + bias_hh).chunk(4, dim=1)
    f = torch.sigmoid(f)
    c = f * c + (1 - f) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(c), c
