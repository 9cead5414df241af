# right: inputs and state side by side, both weights side by side, and one product in Einstein's notation
import torch


def elman_step(inputs, hidden, weight_ih, weight_hh, bias_ih, bias_hh):
    both = torch.cat((inputs, hidden), dim=-1)
    wide = torch.cat((weight_ih, weight_hh), dim=-1)
    return (torch.einsum("bk,rk->br", both, wide) + bias_ih.add(bias_hh)).tanh()
