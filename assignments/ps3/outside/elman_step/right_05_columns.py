import torch


def elman_step(inputs: torch.Tensor, hidden: torch.Tensor, weight_ih, weight_hh, bias_ih, bias_hh) -> torch.Tensor:
    columns = weight_ih @ inputs.T + weight_hh @ hidden.T + (bias_ih + bias_hh).unsqueeze(1)
    return torch.tanh(columns).T
