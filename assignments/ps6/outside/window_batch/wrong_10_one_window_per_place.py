# wrong: windows that lie end to end (start at a multiple of length) instead of at every place.
# shows: N = 8, length = 3, u = 0.5: place 3 instead of 2.

import torch


def window_batch(ids, length, uniforms):
    n = (len(ids) - 1) // length
    starts = (uniforms * n).long() * length
    places = starts[:, None] + torch.arange(length)
    return ids[places], ids[places + 1]
