# wrong: throws one die for each column, so that all rows hide, change or leave the same columns.
# shows: 100 rows: in each column all chosen positions are treated alike

import torch

IGNORE = -100


def mask_batch(ids, special_ids, vocab_size, mask_id, generator):
    chosen = torch.rand(ids.shape, generator=generator) < 0.15
    chosen &= ~torch.isin(ids, torch.tensor(special_ids))
    dice = torch.randint(10, ids.shape[1:], generator=generator).expand_as(ids)
    ordinary = torch.tensor([i for i in range(vocab_size) if i not in special_ids])
    random_ids = ordinary[torch.randint(len(ordinary), ids.shape, generator=generator)]
    seen = ids.masked_fill(chosen & (dice < 8), mask_id)
    seen = torch.where(chosen & (dice == 8), random_ids, seen)
    return seen, ids.masked_fill(~chosen, IGNORE)
