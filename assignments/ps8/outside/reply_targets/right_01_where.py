# right: shifts with a column of IGNORE, then where.

import torch


def reply_targets(ids, prompt_lengths, lengths):
    B, T = ids.shape
    following = torch.cat([ids[:, 1:], torch.full((B, 1), -100)], dim=1)
    places = torch.arange(1, T + 1)
    is_reply = (places >= prompt_lengths[:, None]) & (places < lengths[:, None])
    return torch.where(is_reply, following, -100)
