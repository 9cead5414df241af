# wrong: leaves the last id of the reply out.
# shows: the example by hand: position 3 has no target.

import torch


def reply_targets(ids, prompt_lengths, lengths):
    T = ids.shape[1]
    places = torch.arange(1, T + 1)
    keep = (places >= prompt_lengths[:, None]) & (places < lengths[:, None] - 1)
    return torch.where(keep, ids.roll(-1, dims=1), -100)
