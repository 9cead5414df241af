# wrong: clips the memory to +-10 "for stability".
# shows: a memory beyond 10.

import torch


def lstm_step(inputs, state, weight_ih, weight_hh, bias_ih, bias_hh):
    h, c = state
    i, f, g, o = (inputs @ weight_ih.T + bias_ih + h @ weight_hh.T + bias_hh).chunk(4, dim=1)
    c = (torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)).clamp(-10, 10)
    return torch.sigmoid(o) * torch.tanh(c), c
