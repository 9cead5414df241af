# wrong: a loop over the rows, which the rules of the set forbid (the ids are right).
# shows: the source.

import torch


def window_batch(ids, length, uniforms):
    starts = [int(u * (len(ids) - length)) for u in uniforms.tolist()]
    inputs = torch.stack([ids[s : s + length] for s in starts])
    targets = torch.stack([ids[s + 1 : s + length + 1] for s in starts])
    return inputs, targets
