# wrong: computes in whole numbers of 2^-53, whose product with more than 1024 places is beyond int64.
# shows: a stream of 3000 ids, length 10, u = 0.9: a place that does not exist

import torch


def window_batch(ids, length, uniforms):
    numbers = (uniforms * 2**53).long()
    starts = (numbers * (len(ids) - length)) >> 53
    windows = starts[:, None] + torch.arange(length + 1)
    rows = ids[windows]
    return rows[:, :-1], rows[:, 1:]
