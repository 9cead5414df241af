# wrong: the state before is detached: no gradient flows back through time (values are right). (The text of this set never says that gradients must flow through this function; the workshop and task 7 need them.)
# shows: hidden.grad is None after backward; training through several steps.

import torch


def elman_step(inputs, hidden, weight_ih, weight_hh, bias_ih, bias_hh):
    return torch.tanh(inputs @ weight_ih.T + bias_ih + hidden.detach() @ weight_hh.T + bias_hh)
