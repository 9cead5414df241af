# wrong: padding is scored, too.
# shows: the example by hand: position 4 has a target.

import torch


def reply_targets(ids, prompt_lengths, lengths):
    B, T = ids.shape
    following = torch.cat([ids[:, 1:], torch.full((B, 1), -100)], dim=1)
    return following.masked_fill(torch.arange(1, T + 1) < prompt_lengths[:, None], -100)
