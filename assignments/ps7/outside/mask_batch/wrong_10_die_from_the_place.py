# wrong: the die depends on the random id's draw: an 8 comes only with a place that leaves 8 behind.
# shows: 30 ordinary ids (0 to 29): the random ids are 8, 18 and 28 only. Right by chance if 10 and their number have no common factor.

import torch


def mask_batch(ids, special_ids, vocab_size, mask_id, generator):
    free = torch.tensor([i for i in range(vocab_size) if i not in set(special_ids)])
    chosen = torch.rand(ids.shape, generator=generator) < 0.15
    chosen &= ~torch.isin(ids, torch.tensor(special_ids))
    number = torch.randint(10 * 7 * 9 * 11 * 13 * 30, ids.shape, generator=generator)
    dice, other = number % 10, free[number % len(free)]
    seen = torch.where(chosen & (dice == 8), other, ids).masked_fill(chosen & (dice < 8), mask_id)
    return seen, ids.masked_fill(~chosen, -100)
