# wrong: tells isin that all ids are different, which they are not; with many special ids it then sorts, and errs.
# shows: 30 special ids, and texts in which some of them come several times.

import torch


def choose_positions(ids, draws, rate, special_ids):
    special = torch.tensor(list(special_ids), dtype=ids.dtype)
    return (draws < rate) & ~torch.isin(ids, special, assume_unique=True)
