# wrong: float32 inside.
# shows: float64 beyond 7 digits.

import torch


def elman_step(inputs, hidden, weight_ih, weight_hh, bias_ih, bias_hh):
    x, h, a, b, c, d = (t.float() for t in (inputs, hidden, weight_ih, weight_hh, bias_ih, bias_hh))
    return torch.tanh(x @ a.T + c + h @ b.T + d).to(inputs.dtype)
