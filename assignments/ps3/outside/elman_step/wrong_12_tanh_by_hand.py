# wrong: tanh as (1 - e^-2a) / (1 + e^-2a), which is infinity over infinity where a is very negative; breaks "h' = tanh(...)"
# shows: bias_ih of -100 in float32: nan in place of -1
import torch


def elman_step(inputs, hidden, weight_ih, weight_hh, bias_ih, bias_hh):
    a = inputs @ weight_ih.T + bias_ih + hidden @ weight_hh.T + bias_hh
    e = torch.exp(-2 * a)
    return (1 - e) / (1 + e)
