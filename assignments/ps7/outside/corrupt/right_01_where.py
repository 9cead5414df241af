# right: where and masked_fill.

import torch


def corrupt(ids, chosen, dice, random_ids, mask_id):
    seen = torch.where(chosen & (dice == 8), random_ids, ids)
    seen = seen.masked_fill(chosen & (dice < 8), mask_id)
    return seen, ids.masked_fill(~chosen, -100)
