# wrong: int32, "to save memory".
# shows: dtype; ids above 2**31.

import torch


def stream_pieces(ids, batch_size, length):
    n = (len(ids) - 1) // batch_size
    short = ids.to(torch.int32)
    inputs = short[: n * batch_size].reshape(batch_size, n)
    targets = short[1 : n * batch_size + 1].reshape(batch_size, n)
    return [(inputs[:, t : t + length], targets[:, t : t + length]) for t in range(0, n, length)]
