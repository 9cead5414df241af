# right: gather from an expanded stream; targets from the rolled one.

import torch


def window_batch(ids, length, uniforms):
    n, b = ids.shape[0], uniforms.shape[0]
    first = torch.trunc(uniforms * float(n - length)).to(torch.int64)
    places = torch.arange(length).expand(b, length) + first.reshape(b, 1)
    both = torch.stack([ids, ids.roll(-1)]).unsqueeze(1).expand(2, b, n)
    inputs, targets = both.gather(2, places.expand(2, b, length))
    return inputs, targets
