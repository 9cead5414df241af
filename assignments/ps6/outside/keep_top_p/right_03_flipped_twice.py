# right: a rising stable sort of the flipped row, sums from the right end.

import torch


def keep_top_p(probs, p):
    values, places = probs.flip(-1).sort(dim=-1, stable=True)
    places = probs.shape[-1] - 1 - places
    values, places = values.flip(-1), places.flip(-1)
    sums = torch.cat([torch.zeros_like(values[..., :1]), values.cumsum(-1)[..., :-1]], -1)
    taken = sums < p if p < 1 else torch.ones_like(sums, dtype=torch.bool)
    mask = torch.zeros_like(taken).scatter(-1, places, taken)
    kept = torch.where(mask, probs, torch.zeros_like(probs))
    return kept / kept.sum(-1, keepdim=True)
