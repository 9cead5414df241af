# wrong: the tanh of the new memory by (e^c - e^-c) / (e^c + e^-c), which overflows for a large memory; breaks "The hidden state becomes h' = o * tanh(c')"
# shows: a forget gate of 1 and a memory of 100 in float32: the hidden state is nan
import torch


def lstm_step(inputs, state, weight_ih, weight_hh, bias_ih, bias_hh):
    hidden, memory = state
    a = inputs @ weight_ih.T + bias_ih + hidden @ weight_hh.T + bias_hh
    i, f, g, o = a.chunk(4, dim=1)
    memory = torch.sigmoid(f) * memory + torch.sigmoid(i) * torch.tanh(g)
    up, down = memory.exp(), (-memory).exp()
    return torch.sigmoid(o) * (up - down) / (up + down), memory
