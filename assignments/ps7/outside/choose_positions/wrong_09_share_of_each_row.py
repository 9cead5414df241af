# wrong: chooses the rate's share of each row, the smallest draws first.
# shows: rate 0.5, draws (0.1, 0.2, 0.3, 0.4): all four are below it.

import torch


def choose_positions(ids, draws, rate, special_ids):
    special = torch.isin(ids, torch.tensor(list(special_ids), dtype=ids.dtype))
    n = round(rate * ids.shape[1])
    rank = draws.argsort(dim=1).argsort(dim=1)
    return (rank < n) & ~special
