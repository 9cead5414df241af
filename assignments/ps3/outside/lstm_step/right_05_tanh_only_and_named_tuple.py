# sigma(z) = (1 + tanh(z / 2)) / 2; a named tuple is a tuple

import torch


from collections import namedtuple

State = namedtuple("State", "hidden memory")


def lstm_step(inputs, state, weight_ih, weight_hh, bias_ih, bias_hh):
    a = torch.einsum("be,re->br", inputs, weight_ih) + torch.einsum("bs,rs->br", state[0], weight_hh) + bias_ih + bias_hh
    i, f, g, o = torch.tensor_split(a, 4, dim=-1)
    half = lambda z: (1 + torch.tanh(z / 2)) / 2
    memory = half(f) * state[1] + half(i) * torch.tanh(g)
    return State(half(o) * torch.tanh(memory), memory)
