# wrong: sorts the caller's list of special ids in place (the gaps are right).
# shows: special_ids = [9, 4, 0] after the call.

import torch


def mask_batch(ids, special_ids, vocab_size, mask_id, generator):
    special_ids.sort()
    free = torch.tensor([i for i in range(vocab_size) if i not in special_ids])
    chosen = torch.rand(ids.shape, generator=generator) < 0.15
    chosen &= ~torch.isin(ids, torch.tensor(special_ids))
    dice = torch.randint(10, ids.shape, generator=generator)
    other = free[torch.randint(len(free), ids.shape, generator=generator)]
    seen = torch.where(chosen & (dice == 8), other, ids).masked_fill(chosen & (dice < 8), mask_id)
    return seen, ids.masked_fill(~chosen, -100)
