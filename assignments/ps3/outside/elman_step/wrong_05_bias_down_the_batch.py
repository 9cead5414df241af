# wrong: where B = R the biases are added along the batch.
# shows: B = R > 1.

import torch


def elman_step(inputs, hidden, weight_ih, weight_hh, bias_ih, bias_hh):
    b = bias_ih + bias_hh
    if inputs.shape[0] == len(b):
        b = b.unsqueeze(1)
    return torch.tanh(inputs @ weight_ih.T + hidden @ weight_hh.T + b)
