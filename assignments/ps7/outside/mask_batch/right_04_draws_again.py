# right: draws any ids, and draws the special ones again, until none is left.

import torch


def mask_batch(ids, special_ids, vocab_size, mask_id, generator):
    special = torch.tensor(sorted(special_ids))
    other = torch.randint(vocab_size, ids.shape, generator=generator)
    while (bad := torch.isin(other, special)).any():
        other[bad] = torch.randint(vocab_size, (int(bad.sum()),), generator=generator)
    chosen = torch.empty(ids.shape).bernoulli_(0.15, generator=generator).bool()
    chosen = chosen & torch.isin(ids, special, invert=True)
    part = torch.rand(ids.shape, generator=generator)
    seen = ids.clone()
    seen[chosen & (part < 0.8)] = mask_id
    last = chosen & (part >= 0.9)
    seen[last] = other[last]
    return seen, ids.masked_fill(chosen.logical_not(), -100)
