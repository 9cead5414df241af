# wrong: bias_hh is left out where the state is 0 ("nothing comes from there").
# shows: a hidden state of zeros with a bias_hh that is not 0.

import torch


def lstm_step(inputs, state, weight_ih, weight_hh, bias_ih, bias_hh):
    h, c = state
    a = inputs @ weight_ih.T + bias_ih
    if h.any():
        a = a + h @ weight_hh.T + bias_hh
    i, f, g, o = a.chunk(4, dim=1)
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(c), c
