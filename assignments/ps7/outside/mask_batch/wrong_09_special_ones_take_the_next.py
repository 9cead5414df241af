# wrong: a random id that is special is replaced by the next ordinary one, which is then drawn more often.
# shows: the counts of random ids: with special 4, id 5 comes twice as often as 6.

import torch


def mask_batch(ids, special_ids, vocab_size, mask_id, generator):
    special = torch.tensor(special_ids)
    chosen = (torch.rand(ids.shape, generator=generator) < 0.15) & ~torch.isin(ids, special)
    dice = torch.randint(10, ids.shape, generator=generator)
    other = torch.randint(vocab_size, ids.shape, generator=generator)
    while torch.isin(other, special).any():
        other = torch.where(torch.isin(other, special), (other + 1) % vocab_size, other)
    seen = torch.where(chosen & (dice == 8), other, ids).masked_fill(chosen & (dice < 8), mask_id)
    return seen, ids.masked_fill(~chosen, -100)
