# wrong: writes the IGNORE of empty replies into lengths, which are the caller's.
# shows: an empty reply: lengths has changed.

import torch


def reply_targets(ids, prompt_lengths, lengths):
    T = ids.shape[1]
    lengths[lengths == prompt_lengths] = 0
    places = torch.arange(1, T + 1)
    keep = (places >= prompt_lengths[:, None]) & (places < lengths[:, None])
    return torch.where(keep, ids.roll(-1, dims=1), -100)
