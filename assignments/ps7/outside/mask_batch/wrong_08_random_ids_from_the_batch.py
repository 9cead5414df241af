# wrong: takes random ids from the texts of the batch, frequent ones more often.
# shows: an ordinary id that is not in the batch is never drawn.

import torch


def mask_batch(ids, special_ids, vocab_size, mask_id, generator):
    ordinary = ~torch.isin(ids, torch.tensor(special_ids))
    chosen = (torch.rand(ids.shape, generator=generator) < 0.15) & ordinary
    dice = torch.randint(10, ids.shape, generator=generator)
    words = ids[ordinary] if ordinary.any() else ids.flatten()
    other = words[torch.randint(len(words), ids.shape, generator=generator)]
    seen = torch.where(chosen & (dice == 8), other, ids).masked_fill(chosen & (dice < 8), mask_id)
    return seen, ids.masked_fill(~chosen, -100)
