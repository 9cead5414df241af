# wrong: a loop over the places of a window, which the rules of the set forbid (the ids are right).
# shows: the source.

import torch


def window_batch(ids, length, uniforms):
    starts = (uniforms * (len(ids) - length)).long()
    columns = torch.stack([ids[starts + i] for i in range(length + 1)], dim=1)
    return columns[:, :-1], columns[:, 1:]
