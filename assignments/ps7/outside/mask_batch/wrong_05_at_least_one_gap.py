# wrong: a row without a gap gets one.
# shows: 10,000 rows of one ordinary token: all are chosen, and not 15 %.

import torch


def mask_batch(ids, special_ids, vocab_size, mask_id, generator):
    free = torch.tensor([i for i in range(vocab_size) if i not in set(special_ids)])
    ordinary = ~torch.isin(ids, torch.tensor(special_ids))
    draws = torch.rand(ids.shape, generator=generator).masked_fill(~ordinary, 2.0)
    chosen = draws < 0.15
    least = draws == draws.amin(dim=1, keepdim=True)
    chosen |= ordinary & least & ~chosen.any(dim=1, keepdim=True)
    dice = torch.randint(10, ids.shape, generator=generator)
    other = free[torch.randint(len(free), ids.shape, generator=generator)]
    seen = torch.where(chosen & (dice == 8), other, ids).masked_fill(chosen & (dice < 8), mask_id)
    return seen, ids.masked_fill(~chosen, -100)
