# right: every id against every special id.

import torch


def choose_positions(ids, draws, rate, special_ids):
    special = torch.tensor(sorted(special_ids), dtype=torch.int64)
    free = (ids.unsqueeze(-1) != special).all(dim=-1)
    return torch.logical_and(free, draws < rate)
