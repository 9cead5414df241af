"""What a whole process has only one of, and code that is asked here may leave otherwise."""

import contextlib
import random
import sys
from collections.abc import Iterator

import numpy as np


@contextlib.contextmanager
def process_state_kept() -> Iterator[None]:
    """Give back as they were: random generators, and torch's default dtype and grad mode.

    Probes seed the generators, and a recorded mistake may be just that it switches gradients off
    for good. The next student's right answer must not meet that.
    """
    torch = sys.modules.get("torch")
    plain, numpy_state = random.getstate(), np.random.get_state()
    if torch:
        torch_state, dtype = torch.get_rng_state(), torch.get_default_dtype()
        has_gradients = torch.is_grad_enabled()
    try:
        yield
    finally:
        random.setstate(plain)
        np.random.set_state(numpy_state)
        if torch:
            torch.set_rng_state(torch_state)
            torch.set_default_dtype(dtype)
            torch.set_grad_enabled(has_gradients)
