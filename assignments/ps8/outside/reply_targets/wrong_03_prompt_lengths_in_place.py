# wrong: counts the caller's prompt_lengths down.
# shows: prompt_lengths after the call.

import torch


def reply_targets(ids, prompt_lengths, lengths):
    prompt_lengths -= 1
    t = torch.arange(ids.shape[1])
    keep = (t >= prompt_lengths[:, None]) & (t < lengths[:, None] - 1)
    return torch.where(keep, ids.roll(-1, dims=1), -100)
