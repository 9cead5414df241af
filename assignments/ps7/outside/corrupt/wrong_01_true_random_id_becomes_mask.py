# wrong: a random id that happens to be the true one is replaced by [MASK].
# shows: die 8, random id = id.

import torch


def corrupt(ids, chosen, dice, random_ids, mask_id):
    seen = torch.where(chosen & (dice == 8), random_ids, ids)
    unchanged = (dice == 8) & (random_ids == ids)
    seen = seen.masked_fill(chosen & ((dice < 8) | unchanged), mask_id)
    return seen, torch.where(chosen, ids, -100)
