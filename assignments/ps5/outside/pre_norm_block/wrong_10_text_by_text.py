# wrong: calls the functions once for each text of the batch, not once.
# shows: B > 1: count the calls; B = 0: torch.cat of nothing.

import torch


def pre_norm_block(x, mask, attention, feed_forward, norm_1, norm_2):
    out = []
    for b in range(x.shape[0]):
        row = x[b : b + 1]
        h = row + attention(norm_1(row), None if mask is None else mask[b : b + 1])
        out.append(h + feed_forward(norm_2(h)))
    return torch.cat(out)
