import torch


def lstm_step(inputs, state, weight_ih, weight_hh, bias_ih, bias_hh):
    hidden, memory = state
    blocks = zip(weight_ih.chunk(4), weight_hh.chunk(4), bias_ih.chunk(4), bias_hh.chunk(4))
    functions = (torch.sigmoid, torch.sigmoid, torch.tanh, torch.sigmoid)
    enter, keep, new, show = (
        function(inputs @ w.T + b + hidden @ u.T + d) for function, (w, u, b, d) in zip(functions, blocks)
    )
    memory = keep * memory + enter * new
    return show * torch.tanh(memory), memory
