# wrong: cuts the four blocks off at -10 and 10 "against overflow", so a gate that is wide open is not quite open; breaks "The three gates are sigma of their block"
# shows: a forget gate of 30 and a memory of 1000: 999.95 in place of 1000
import torch


def lstm_step(inputs, state, weight_ih, weight_hh, bias_ih, bias_hh):
    hidden, memory = state
    a = inputs @ weight_ih.T + bias_ih + hidden @ weight_hh.T + bias_hh
    i, f, g, o = a.clamp(-10, 10).chunk(4, dim=1)
    memory = torch.sigmoid(f) * memory + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(memory), memory
