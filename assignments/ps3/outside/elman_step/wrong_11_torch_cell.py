# wrong: torch.rnn_tanh_cell is torch's own cell, not allowed.
# shows: by reading.

import torch


def elman_step(inputs, hidden, weight_ih, weight_hh, bias_ih, bias_hh):
    return torch.rnn_tanh_cell(inputs, hidden, weight_ih, weight_hh, bias_ih, bias_hh)
