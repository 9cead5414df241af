# wrong: chunk(4) without dim cuts the BATCH, not the 4R numbers.
# shows: everywhere (B < 4 raises an error).

import torch


def lstm_step(inputs, state, weight_ih, weight_hh, bias_ih, bias_hh):
    h, c = state
    i, f, g, o = (inputs @ weight_ih.T + bias_ih + h @ weight_hh.T + bias_hh).chunk(4)
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(c), c
