# wrong: n = N // B, and the last id gets the FIRST id of the text as its target (roll): one step too many where B divides N.
# shows: N a multiple of B (12 ids, 2 rows: n must be 5); else it is right.

import torch


def stream_pieces(ids, batch_size, length):
    n = len(ids) // batch_size
    nexts = torch.roll(ids, -1)
    inputs = ids[: n * batch_size].reshape(batch_size, n)
    targets = nexts[: n * batch_size].reshape(batch_size, n)
    return [(inputs[:, t : t + length], targets[:, t : t + length]) for t in range(0, n, length)]
