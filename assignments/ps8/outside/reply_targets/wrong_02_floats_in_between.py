# wrong: shifts in float32.
# shows: the id 16,777,217 becomes 16,777,216.

import torch
from torch.nn import functional as F


def reply_targets(ids, prompt_lengths, lengths):
    T = ids.shape[1]
    following = F.pad(ids[:, 1:].float(), (0, 1), value=-100.0)
    places = torch.arange(1, T + 1)
    keep = (places >= prompt_lengths[:, None]) & (places < lengths[:, None])
    return following.masked_fill(~keep, -100).long()
