# right: the places by nonzero.

import torch


def corrupt(ids, chosen, dice, random_ids, mask_id):
    rows, columns = chosen.nonzero(as_tuple=True)
    true, die = ids[rows, columns], dice[rows, columns]
    new = torch.where(die < 8, mask_id, torch.where(die == 8, random_ids[rows, columns], true))
    seen, targets = ids.clone(), torch.full_like(ids, -100)
    seen[rows, columns], targets[rows, columns] = new, true
    return seen, targets
