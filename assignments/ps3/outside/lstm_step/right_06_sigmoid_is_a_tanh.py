# right: one tanh for all four blocks, since sigma(x) = (1 + tanh(x / 2)) / 2; the blocks by unflatten
import torch
from torch.nn import functional as F


def lstm_step(inputs, state, weight_ih, weight_hh, bias_ih, bias_hh):
    hidden, memory = state
    a = F.linear(inputs, weight_ih, bias_ih) + F.linear(hidden, weight_hh, bias_hh)
    a = a.unflatten(-1, (4, memory.shape[-1]))
    slope = a.new_tensor([0.5, 0.5, 1.0, 0.5]).unsqueeze(-1)
    squashed = torch.tanh(a * slope) * slope + (1 - slope)
    kept = torch.stack((squashed[:, 1], squashed[:, 0]))
    after = (kept * torch.stack((memory, squashed[:, 2]))).sum(dim=0)
    return squashed[:, 3] * after.tanh(), after
