# the residual path as a list of what was added to it

import torch


def pre_norm_block(x, mask, attention, feed_forward, norm_1, norm_2):
    parts = [x]
    parts.append(attention(norm_1(x), mask))
    parts.append(feed_forward(norm_2(torch.stack(parts).sum(dim=0))))
    return torch.stack(parts).sum(dim=0)
