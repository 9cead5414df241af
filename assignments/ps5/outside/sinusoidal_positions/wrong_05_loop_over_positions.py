# wrong: a Python loop over the positions (forbidden by the rules of the set); the numbers are right.
# shows: time for 100,000 positions.

import math
import torch


def sinusoidal_positions(positions, d_model):
    rows = []
    for p in positions.flatten().tolist():
        row = []
        for i in range(d_model // 2):
            angle = p / 10_000 ** (2 * i / d_model)
            row += [math.sin(angle), math.cos(angle)]
        rows.append(row)
    return torch.tensor(rows, dtype=torch.float32).reshape(*positions.shape, d_model)
