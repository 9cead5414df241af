# right: torch.where and a difference.

import torch


def choose_positions(ids, draws, rate, special_ids):
    wanted = torch.tensor([*special_ids], dtype=ids.dtype)
    mine = torch.where(torch.isin(ids, wanted, invert=True), rate - draws.clone(), -1.0)
    return mine > 0
