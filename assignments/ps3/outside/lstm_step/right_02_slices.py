from torch.nn import functional as F


def lstm_step(inputs, state, weight_ih, weight_hh, bias_ih, bias_hh):
    R = state[0].shape[1]
    total = F.linear(inputs, weight_ih, bias_ih) + F.linear(state[0], weight_hh, bias_hh)
    gate = lambda k: total[:, k * R : (k + 1) * R]
    after = gate(1).sigmoid() * state[1] + gate(0).sigmoid() * gate(2).tanh()
    return gate(3).sigmoid() * after.tanh(), after
