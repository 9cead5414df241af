# wrong: windows of one id lose their axis.
# shows: length = 1: shape (B,) instead of (B, 1).

import torch


def window_batch(ids, length, uniforms):
    starts = (uniforms * (len(ids) - length)).floor().long()
    places = starts.unsqueeze(1) + torch.arange(length)
    return ids[places].squeeze(-1), ids[places + 1].squeeze(-1)
