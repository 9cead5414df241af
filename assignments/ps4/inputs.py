"""What several items of problem set 4 share.

Sizes are small, odd and different, so that a wrong axis cannot pass by luck; beside them stands one
case in which all sizes are equal, so that a wrong axis cannot show by an exception alone.
"""

import torch
from torch import Tensor

from ..tensors import Generator


def some_allowed(rng: Generator, *shape: int, share: float = 0.6) -> Tensor:
    """Draw a mask in whose every row a query may look at one place at least, and not at all.

    A row of a single place is allowed.
    """
    mask = torch.from_numpy(rng.random(shape) < share)
    n_keys = shape[-1]
    rows = mask.view(-1, n_keys)
    for number in range(len(rows)):
        first, second = rng.permutation(n_keys)[[0, -1]]
        rows[number, int(second)] = False
        rows[number, int(first)] = True
    return mask
