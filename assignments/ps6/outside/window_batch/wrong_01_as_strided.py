# wrong: reads the memory of `ids` as if it had no gaps.
# shows: ids = torch.arange(20)[::2], length 3, u = 0.5: neighbours in memory instead of in the stream.

import torch


def window_batch(ids, length, uniforms):
    n = len(ids) - length
    windows = torch.as_strided(ids, (n, length + 1), (1, 1))
    rows = windows[(uniforms * n).long()]
    return rows[:, :-1], rows[:, 1:]
