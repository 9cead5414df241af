# wrong: cuts the draws to whole percents.
# shows: rate 0.155, a draw of 0.158: chosen, and should not be.

import torch


def choose_positions(ids, draws, rate, special_ids):
    special = torch.isin(ids, torch.tensor(list(special_ids), dtype=ids.dtype))
    return ((draws * 100).long() < rate * 100) & ~special
