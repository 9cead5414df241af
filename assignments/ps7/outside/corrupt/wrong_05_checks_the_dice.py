# wrong: checks the largest and the smallest die: the largest of nothing.
# shows: shape (0, 5) or (2, 0): RuntimeError.

import torch


def corrupt(ids, chosen, dice, random_ids, mask_id):
    assert dice.min() >= 0 and dice.max() <= 9
    seen = torch.where(chosen & (dice == 8), random_ids, ids)
    seen = seen.masked_fill(chosen & (dice <= 7), mask_id)
    return seen, ids.masked_fill(~chosen, -100)
