import torch


def elman_step(inputs, hidden, weight_ih, weight_hh, bias_ih, bias_hh):
    return torch.tanh(inputs @ weight_ih.T + bias_ih + hidden @ weight_hh.T + bias_hh)
