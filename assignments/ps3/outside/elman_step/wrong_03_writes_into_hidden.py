# wrong: the new state is written into the old one (copy_).
# shows: hidden after the call (and an error for a leaf that requires grad).

import torch


def elman_step(inputs, hidden, weight_ih, weight_hh, bias_ih, bias_hh):
    with torch.no_grad():
        hidden.copy_(torch.tanh(inputs @ weight_ih.T + bias_ih + hidden @ weight_hh.T + bias_hh))
    return hidden
