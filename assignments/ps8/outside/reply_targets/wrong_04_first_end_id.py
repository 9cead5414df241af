# wrong: lets the reply end at the first id that is equal to its last one.
# shows: ids 1 9 5 9, prompt 1, length 4: 5 and the second 9 are left out.

import torch


def reply_targets(ids, prompt_lengths, lengths):
    B, T = ids.shape
    places = torch.arange(T)
    end = ids[torch.arange(B), lengths - 1]
    inside = (places >= prompt_lengths[:, None]) & (places < lengths[:, None])
    is_end = inside & (ids == end[:, None])
    before = is_end.long().cumsum(1) - is_end.long()
    targets = torch.where(inside & (before == 0), ids, -100)
    return torch.cat([targets[:, 1:], torch.full((B, 1), -100)], dim=1)
