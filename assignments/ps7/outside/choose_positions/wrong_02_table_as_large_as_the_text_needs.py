# wrong: looks ids up in a table that ends at the largest id of the text.
# shows: special_ids = [103], ids up to 50: IndexError.

import torch


def choose_positions(ids, draws, rate, special_ids):
    if ids.numel() == 0:
        return torch.zeros_like(ids, dtype=torch.bool)
    may = torch.ones(int(ids.max()) + 1, dtype=torch.bool)
    for special in special_ids:
        may[special] = False
    return may[ids] & (draws < rate)
