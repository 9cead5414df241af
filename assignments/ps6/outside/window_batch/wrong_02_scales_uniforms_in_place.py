# wrong: multiplies the caller's random numbers in place (the windows are right).
# shows: uniforms after the call; or calling twice with the same ones.

import torch


def window_batch(ids, length, uniforms):
    starts = uniforms.mul_(len(ids) - length).long()
    places = starts[:, None] + torch.arange(length)
    return ids[places], ids[places + 1]
