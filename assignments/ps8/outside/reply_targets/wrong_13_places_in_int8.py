# wrong: counts places in int8, which ends at 127.
# shows: T = 200, prompt 150, length 200: no target at all

import torch

IGNORE = -100


def reply_targets(ids, prompt_lengths, lengths):
    place = torch.ones_like(ids[:1], dtype=torch.int8).cumsum(dim=1, dtype=torch.int8)
    is_reply = (place >= prompt_lengths[:, None]) & (place < lengths[:, None])
    return torch.where(is_reply, ids.roll(-1, dims=1), IGNORE)
