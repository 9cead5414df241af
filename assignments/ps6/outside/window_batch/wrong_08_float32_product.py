# wrong: the product in float32.
# shows: N - length = 5, u = 0.4 - 1e-12: place 2 instead of 1.

import torch


def window_batch(ids, length, uniforms):
    starts = (uniforms.float() * (len(ids) - length)).long()
    places = starts[:, None] + torch.arange(length)
    return ids[places], ids[places + 1]
