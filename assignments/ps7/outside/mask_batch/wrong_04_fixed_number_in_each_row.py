# wrong: exactly 15 % of the ordinary positions of each row: not independent.
# shows: 1000 rows of 20 ordinary tokens: each has exactly 3 gaps; rows of 3 never have any.

import torch


def mask_batch(ids, special_ids, vocab_size, mask_id, generator):
    free = torch.tensor([i for i in range(vocab_size) if i not in set(special_ids)])
    special = torch.isin(ids, torch.tensor(special_ids))
    draws = torch.rand(ids.shape, generator=generator).masked_fill(special, 2.0)
    n = (0.15 * (~special).sum(dim=1, keepdim=True)).round()
    chosen = draws.argsort(dim=1).argsort(dim=1) < n
    dice = torch.randint(10, ids.shape, generator=generator)
    other = free[torch.randint(len(free), ids.shape, generator=generator)]
    seen = torch.where(chosen & (dice == 8), other, ids).masked_fill(chosen & (dice < 8), mask_id)
    return seen, ids.masked_fill(~chosen, -100)
