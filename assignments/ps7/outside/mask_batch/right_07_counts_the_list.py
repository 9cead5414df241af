# right: the number of ordinary ids as vocab_size minus the length of the list.
# shows: special_ids = [0, 0, 4], vocab_size = 10: the last ordinary id is never drawn.

import torch


def mask_batch(ids, special_ids, vocab_size, mask_id, generator):
    n = vocab_size - len(special_ids)
    chosen = torch.rand(ids.shape, generator=generator) < 0.15
    chosen &= ~torch.isin(ids, torch.tensor(special_ids))
    dice = torch.randint(10, ids.shape, generator=generator)
    other = torch.randint(n, ids.shape, generator=generator)
    for special in sorted(set(special_ids)):
        other += other >= special
    seen = torch.where(chosen & (dice == 8), other, ids).masked_fill(chosen & (dice < 8), mask_id)
    return seen, ids.masked_fill(~chosen, -100)
