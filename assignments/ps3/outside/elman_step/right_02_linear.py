from torch.nn import functional as F


def elman_step(inputs, hidden, weight_ih, weight_hh, bias_ih, bias_hh):
    return F.linear(inputs, weight_ih, bias_ih).add(F.linear(hidden, weight_hh, bias_hh)).tanh()
