# wrong: a set that is not empty cannot become a tensor.
# shows: special_ids = {0, 7}: RuntimeError.

import torch


def choose_positions(ids, draws, rate, special_ids):
    chosen = draws < rate
    if special_ids:
        chosen = chosen & ~torch.isin(ids, torch.tensor(special_ids))
    return chosen
