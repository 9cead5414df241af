# wrong: None is replaced by a mask of True.
# shows: an attention that asks whether mask is None.

import torch


def pre_norm_block(x, mask, attention, feed_forward, norm_1, norm_2):
    if mask is None:
        mask = torch.ones(x.shape[0], x.shape[1], x.shape[1], dtype=torch.bool)
    x = x + attention(norm_1(x), mask)
    return x + feed_forward(norm_2(x))
