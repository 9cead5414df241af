# right: looks u up among the borders k / n, instead of rounding the product u n down.

import torch


def window_batch(ids, length, uniforms):
    n = len(ids) - length
    borders = torch.linspace(0, 1, n + 1, dtype=torch.float64)
    starts = torch.searchsorted(borders, uniforms, right=True) - 1
    places = starts[:, None] + torch.arange(length)
    return ids[places], ids[places + 1]
