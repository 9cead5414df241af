# right: starts from IGNORE everywhere, finds the places of the replies, writes there.

import torch


def reply_targets(ids, prompt_lengths, lengths):
    targets = torch.full_like(ids, -100)
    t = torch.arange(ids.shape[1])
    rows, places = ((t >= prompt_lengths[:, None]) & (t < lengths[:, None])).nonzero(as_tuple=True)
    targets[rows, places - 1] = ids[rows, places]
    return targets
