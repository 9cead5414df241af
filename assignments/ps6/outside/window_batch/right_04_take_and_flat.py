# right: a flat list of places, made with repeat_interleave; take.

import torch


def window_batch(ids, length, uniforms):
    starts = (uniforms * (ids.numel() - length)).type(torch.int64)
    flat = starts.repeat_interleave(length) + torch.arange(length).repeat(len(starts))
    shape = len(starts), length
    return torch.take(ids, flat).reshape(shape), torch.take(ids, flat + 1).reshape(shape)
