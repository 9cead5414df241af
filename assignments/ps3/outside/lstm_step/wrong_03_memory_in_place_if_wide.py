# wrong: for R > 1 the memory is multiplied in place: the caller's state is changed.
# shows: state[1] after the call, R > 1.

import torch


def lstm_step(inputs, state, weight_ih, weight_hh, bias_ih, bias_hh):
    h, c = state
    i, f, g, o = (inputs @ weight_ih.T + bias_ih + h @ weight_hh.T + bias_hh).chunk(4, dim=1)
    if c.shape[1] > 1:
        c.mul_(torch.sigmoid(f)).add_(torch.sigmoid(i) * torch.tanh(g))
    else:
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(c), c
