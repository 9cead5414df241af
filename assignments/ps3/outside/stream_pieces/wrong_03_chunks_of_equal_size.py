# wrong: torch.chunk makes chunks of about equal size: 5 steps in pieces of 4 become 3 + 2, not 4 + 1.
# shows: n = 5, length = 4; n = 9, length = 5.

import math


def stream_pieces(ids, batch_size, length):
    n = (len(ids) - 1) // batch_size
    k = math.ceil(n / length)
    inputs = ids[: n * batch_size].reshape(batch_size, n).chunk(k, dim=1)
    targets = ids[1 : n * batch_size + 1].reshape(batch_size, n).chunk(k, dim=1)
    return list(zip(inputs, targets))
