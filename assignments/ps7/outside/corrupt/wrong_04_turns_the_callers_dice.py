# wrong: sets the dice of the other positions to 9, in the caller's tensor.
# shows: dice after the call.

import torch


def corrupt(ids, chosen, dice, random_ids, mask_id):
    dice[~chosen] = 9
    seen = torch.where(dice == 8, random_ids, ids).masked_fill(dice < 8, mask_id)
    return seen, ids.masked_fill(~chosen, -100)
