# wrong: looks ids up as an embedding of floats: large ids are rounded.
# shows: ids = torch.tensor([16_777_217, 5, 16_777_219]), length 1: 16777216.

import torch
from torch.nn import functional as F


def window_batch(ids, length, uniforms):
    places = (uniforms * (len(ids) - length)).long()[:, None] + torch.arange(length + 1)
    rows = F.embedding(places, ids.float()[:, None]).squeeze(-1).long()
    return rows[:, :-1], rows[:, 1:]
