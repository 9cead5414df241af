import torch


def sinusoidal_positions(positions: torch.Tensor, d_model: int) -> torch.Tensor:
    p = positions.to(torch.float64)
    columns = []
    for j in range(d_model):
        angle = p / 10_000 ** ((j - j % 2) / d_model)
        columns.append(torch.cos(angle) if j % 2 else torch.sin(angle))
    return torch.stack(columns, dim=-1).float()
