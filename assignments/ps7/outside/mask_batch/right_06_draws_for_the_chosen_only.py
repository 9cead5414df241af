# right: throws dice and random ids for the chosen positions only.
# shows: the state of the generator after the call.

import torch


def mask_batch(ids, special_ids, vocab_size, mask_id, generator):
    free = torch.tensor([i for i in range(vocab_size) if i not in set(special_ids)])
    chosen = torch.rand(ids.shape, generator=generator) < 0.15
    chosen &= ~torch.isin(ids, torch.tensor(special_ids))
    true = ids[chosen]
    dice = torch.randint(10, true.shape, generator=generator)
    other = free[torch.randint(len(free), true.shape, generator=generator)]
    seen = ids.clone()
    seen[chosen] = torch.where(dice < 8, mask_id, torch.where(dice == 8, other, true))
    return seen, ids.masked_fill(~chosen, -100)
