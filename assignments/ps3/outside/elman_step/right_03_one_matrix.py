import torch


def elman_step(inputs, hidden, weight_ih, weight_hh, bias_ih, bias_hh):
    both = torch.cat([inputs, hidden], dim=1)
    weight = torch.cat([weight_ih, weight_hh], dim=1)
    return torch.tanh(torch.addmm(bias_ih + bias_hh, both, weight.t()))
