import torch


def lstm_step(inputs, state, weight_ih, weight_hh, bias_ih, bias_hh):
    (h, c), B = state, inputs.shape[0]
    a = torch.cat([inputs, h], 1) @ torch.cat([weight_ih, weight_hh], 1).T + (bias_ih + bias_hh)
    i, f, g, o = a.reshape(B, 4, -1).unbind(1)
    c = torch.addcmul(f.sigmoid() * c, i.sigmoid(), g.tanh())
    return o.sigmoid() * c.tanh(), c
