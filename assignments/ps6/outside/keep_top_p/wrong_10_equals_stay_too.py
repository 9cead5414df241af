# wrong: everything as likely as the last one taken stays.
# shows: (1/8, 1/2, 1/4, 1/8) with p = 0.8: both 1/8 stay.

import torch


def keep_top_p(probs, p):
    values = probs.sort(dim=-1, descending=True).values
    before = values.cumsum(dim=-1) - values
    limit = values.masked_fill((before >= p) & (p < 1), 2.0).amin(dim=-1, keepdim=True)
    kept = torch.where(probs >= limit, probs, 0.0)
    return kept / kept.sum(dim=-1, keepdim=True)
