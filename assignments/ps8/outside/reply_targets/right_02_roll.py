# right: rolls, and masks what wraps round by the lengths.

import torch


def reply_targets(ids, prompt_lengths, lengths):
    t = torch.arange(ids.size(1)).expand_as(ids)
    wrong = (t < prompt_lengths.unsqueeze(1) - 1) | (t >= lengths.unsqueeze(1) - 1)
    return ids.roll(-1, dims=1).masked_fill(wrong, -100)
