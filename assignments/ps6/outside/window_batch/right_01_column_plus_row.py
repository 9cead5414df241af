# right: a column of beginnings plus a row.

import torch


def window_batch(ids, length, uniforms):
    starts = (uniforms * (len(ids) - length)).floor().long()
    places = starts[:, None] + torch.arange(length)
    return ids[places], ids[places + 1]
