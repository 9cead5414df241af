# wrong: sigma as 1 / (1 + e^-z): values right, but the gradient at z = -1000 is nan (0 * inf). (The text of this set never says that gradients must flow through this function; the workshop and task 7 need them.)
# shows: gradients with very negative gates (below -88 in float32).

import torch


def lstm_step(inputs, state, weight_ih, weight_hh, bias_ih, bias_hh):
    h, c = state
    a = inputs @ weight_ih.T + bias_ih + h @ weight_hh.T + bias_hh
    i, f, g, o = a.chunk(4, dim=1)
    sigma = lambda z: 1 / (1 + torch.exp(-z))
    c = sigma(f) * c + sigma(i) * torch.tanh(g)
    return sigma(o) * torch.tanh(c), c
