# right: how many are strictly larger, found in the sorted row.

import torch


def keep_top_k(logits, k):
    rising = (-logits.double()).sort(dim=-1).values.contiguous()
    larger = torch.searchsorted(rising, (-logits.double()).contiguous())  # strictly before it
    out = torch.full_like(logits, -torch.inf)
    stay = larger < k
    out[stay] = logits[stay]
    return out
