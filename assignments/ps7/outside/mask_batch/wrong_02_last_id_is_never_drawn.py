# wrong: the last id of the vocabulary is never a random id.
# shows: vocab_size - 1 is not special, e.g. special_ids [0, 1], vocab_size 10: 9 does not occur.

import torch


def mask_batch(ids, special_ids, vocab_size, mask_id, generator):
    free = torch.tensor([i for i in range(vocab_size - 1) if i not in set(special_ids)])
    chosen = torch.rand(ids.shape, generator=generator) < 0.15
    chosen &= ~torch.isin(ids, torch.tensor(special_ids))
    dice = torch.randint(10, ids.shape, generator=generator)
    other = free[torch.randint(len(free), ids.shape, generator=generator)]
    seen = torch.where(chosen & (dice == 8), other, ids).masked_fill(chosen & (dice < 8), mask_id)
    return seen, ids.masked_fill(~chosen, -100)
