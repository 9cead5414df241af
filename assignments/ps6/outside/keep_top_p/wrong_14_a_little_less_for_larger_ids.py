# wrong: takes a little from each probability, more for larger ids, so that no two are equal; but nearly equal ones change their order.
# shows: float64, (0.25 - 1e-9, 0.25 + 1e-9, 0.5) and p = 0.6: id 0 is taken in place of id 1

import torch


def keep_top_p(probs, p):
    steps = torch.arange(probs.shape[-1], dtype=torch.float64) * 1e-7
    places = (probs.double() - steps).argsort(dim=-1, descending=True)
    ordered = probs.gather(-1, places)
    before = ordered.cumsum(dim=-1) - ordered
    if p < 1:
        ordered = ordered.masked_fill(before >= p, 0)
    kept = torch.zeros_like(probs).scatter(-1, places, ordered)
    return kept / kept.sum(dim=-1, keepdim=True)
