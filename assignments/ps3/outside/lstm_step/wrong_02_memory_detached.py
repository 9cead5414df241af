# wrong: the memory before is detached: the very gradient that an LSTM is made for is cut. (The text of this set never says that gradients must flow through this function; the workshop and task 7 need them.)
# shows: state[1].grad; training through several steps. Values are right.

import torch


def lstm_step(inputs, state, weight_ih, weight_hh, bias_ih, bias_hh):
    h, c = state
    i, f, g, o = (inputs @ weight_ih.T + bias_ih + h @ weight_hh.T + bias_hh).chunk(4, dim=1)
    c = torch.sigmoid(f) * c.detach() + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(c), c
