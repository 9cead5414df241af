# wrong: if every position is chosen, the targets are the caller's tensor.
# shows: chosen all True; write into the targets.

import torch


def corrupt(ids, chosen, dice, random_ids, mask_id):
    seen = torch.where(chosen & (dice == 8), random_ids, ids)
    seen = seen.masked_fill(chosen & (dice < 8), mask_id)
    targets = ids if chosen.all() else ids.masked_fill(~chosen, -100)
    return seen, targets
