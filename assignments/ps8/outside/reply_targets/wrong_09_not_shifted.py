# wrong: the target is the id at the same position.
# shows: the example by hand.

import torch


def reply_targets(ids, prompt_lengths, lengths):
    places = torch.arange(ids.shape[1])
    keep = (places >= prompt_lengths[:, None]) & (places < lengths[:, None])
    return torch.where(keep, ids, -100)
