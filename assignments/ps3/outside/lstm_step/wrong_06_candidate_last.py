# wrong: the order input, forget, output, candidate (as in some other libraries).
# shows: everywhere.

import torch


def lstm_step(inputs, state, weight_ih, weight_hh, bias_ih, bias_hh):
    h, c = state
    i, f, o, g = (inputs @ weight_ih.T + bias_ih + h @ weight_hh.T + bias_hh).chunk(4, dim=1)
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(c), c
