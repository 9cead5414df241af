# wrong: where E = R it takes weight_ih as it is ("the shapes fit").
# shows: E = R with a matrix that is not symmetric.

import torch


def elman_step(inputs, hidden, weight_ih, weight_hh, bias_ih, bias_hh):
    W = weight_ih if weight_ih.shape[0] == weight_ih.shape[1] else weight_ih.T
    return torch.tanh(inputs @ W + hidden @ weight_hh.T + bias_ih + bias_hh)
