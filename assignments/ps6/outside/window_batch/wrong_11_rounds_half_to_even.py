# wrong: rounds the product minus a half; where the product is whole, this goes to the even neighbour.
# shows: N - length = 2, u = 0.5: place 0 in place of 1

import torch


def window_batch(ids, length, uniforms):
    starts = torch.round(uniforms * (len(ids) - length) - 0.5).long().clamp(min=0)
    places = starts[:, None] + torch.arange(length)
    return ids[places], ids[places + 1]
