# right: the three possibilities in a stack, and gather.

import torch


def corrupt(ids, chosen, dice, random_ids, mask_id):
    stack = torch.stack([torch.full_like(ids, mask_id), random_ids, ids])
    which = (dice - 7).clamp(0, 2).masked_fill(~chosen, 2)
    seen = stack.gather(0, which.unsqueeze(0)).squeeze(0)
    return seen, torch.full_like(ids, -100).masked_scatter(chosen, ids[chosen])
