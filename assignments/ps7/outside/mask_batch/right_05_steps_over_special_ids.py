# right: draws among n ordinary ids and steps over the special ones in rising order; dice of 20 and 100 sides.

import torch


def mask_batch(ids, special_ids, vocab_size, mask_id, generator):
    rising = sorted(set(special_ids))
    other = torch.randint(0, vocab_size - len(rising), ids.shape, generator=generator)
    chosen = torch.randint(0, 20, ids.shape, generator=generator) < 3
    for special in rising:
        other = other + (other >= special)
        chosen = chosen & (ids != special)
    die = torch.randint(0, 100, ids.shape, generator=generator)
    seen = torch.where(die < 80, torch.tensor(mask_id), torch.where(die < 90, other, ids))
    return torch.where(chosen, seen, ids), torch.where(chosen, ids, torch.tensor(-100))
