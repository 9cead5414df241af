# right: isin.

import torch


def choose_positions(ids, draws, rate, special_ids):
    special = torch.isin(ids, torch.tensor(list(special_ids), dtype=ids.dtype))
    return (draws < rate) & ~special
