import torch


def elman_step(inputs, hidden, weight_ih, weight_hh, bias_ih, bias_hh):
    after = [torch.tanh(weight_ih.mv(x) + bias_ih + weight_hh.mv(h) + bias_hh) for x, h in zip(inputs, hidden)]
    return torch.stack(after)
