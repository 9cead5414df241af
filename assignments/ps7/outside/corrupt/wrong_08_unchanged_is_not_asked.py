# wrong: the target is only where the model sees something else.
# shows: a chosen position with die 9.

import torch


def corrupt(ids, chosen, dice, random_ids, mask_id):
    seen = torch.where(chosen & (dice == 8), random_ids, ids)
    seen = seen.masked_fill(chosen & (dice < 8), mask_id)
    return seen, torch.where(seen != ids, ids, -100)
