# wrong: targets by rolling the window: its last target is its own first id.
# shows: every window whose first id is not what follows it.

import torch


def window_batch(ids, length, uniforms):
    starts = (uniforms * (len(ids) - length)).long()
    inputs = ids[starts[:, None] + torch.arange(length)]
    return inputs, inputs.roll(-1, dims=1)
