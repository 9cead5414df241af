# wrong: takes the last id of a reply for padding if it is equal to the one before it.
# shows: a reply 7 9 9: its last 9 is no target.

import torch


def reply_targets(ids, prompt_lengths, lengths):
    B, T = ids.shape
    places = torch.arange(1, T + 1)
    following = torch.cat([ids[:, 1:], torch.full((B, 1), -100)], dim=1)
    keep = (places >= prompt_lengths[:, None]) & (places < lengths[:, None])
    keep &= (following != ids) | (places < lengths[:, None] - 1)
    return torch.where(keep, following, -100)
