# wrong: bias_ih twice, bias_hh never.
# shows: biases that differ.

import torch
from torch.nn import functional as F


def elman_step(inputs, hidden, weight_ih, weight_hh, bias_ih, bias_hh):
    return torch.tanh(F.linear(inputs, weight_ih, bias_ih) + F.linear(hidden, weight_hh, bias_ih))
