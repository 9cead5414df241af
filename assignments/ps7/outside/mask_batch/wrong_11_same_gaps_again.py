# wrong: draws from a generator of its own with the seed of the given one: the same gaps in each epoch.
# shows: two calls with one generator.

import torch


def mask_batch(ids, special_ids, vocab_size, mask_id, generator):
    generator = torch.Generator().manual_seed(generator.initial_seed())
    free = torch.tensor([i for i in range(vocab_size) if i not in set(special_ids)])
    chosen = torch.rand(ids.shape, generator=generator) < 0.15
    chosen &= ~torch.isin(ids, torch.tensor(special_ids))
    dice = torch.randint(10, ids.shape, generator=generator)
    other = free[torch.randint(len(free), ids.shape, generator=generator)]
    seen = torch.where(chosen & (dice == 8), other, ids).masked_fill(chosen & (dice < 8), mask_id)
    return seen, ids.masked_fill(~chosen, -100)
