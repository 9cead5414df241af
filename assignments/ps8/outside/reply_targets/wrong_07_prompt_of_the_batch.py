# wrong: all rows have the shortest prompt of the batch.
# shows: prompts of 1 and 3 ids.

import torch


def reply_targets(ids, prompt_lengths, lengths):
    T = ids.shape[1]
    places = torch.arange(1, T + 1)
    keep = (places >= prompt_lengths.min()) & (places < lengths[:, None])
    return torch.where(keep, ids.roll(-1, dims=1), -100)
