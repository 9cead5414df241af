# e^{i angle}: the imaginary part is the sine, the real part the cosine

import torch


def sinusoidal_positions(positions, d_model):
    i = torch.arange(d_model // 2, dtype=torch.float64)
    angle = positions.to(torch.float64).unsqueeze(-1) * torch.pow(torch.tensor(10_000.0, dtype=torch.float64), -2 * i / d_model)
    circle = torch.view_as_real(torch.polar(torch.ones_like(angle), angle))
    return circle.flip(-1).reshape(*positions.shape, d_model).to(torch.float32)
