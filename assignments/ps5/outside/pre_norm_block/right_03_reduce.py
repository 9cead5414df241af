import torch
import functools


def pre_norm_block(x, mask, attention, feed_forward, norm_1, norm_2):
    sublayers = [(norm_1, functools.partial(lambda m, y: attention(y, m), mask)), (norm_2, feed_forward)]
    return functools.reduce(lambda y, part: torch.add(y, part[1](part[0](y))), sublayers, x)
