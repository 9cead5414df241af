# wrong: keeps a table of rates by the two lengths, whatever peak and final are.
# shows: (0, 1.0, 0.2, 4, 9), then (0, 2.0, 0.2, 4, 9): the second is 0.25 instead of 0.5.

import math

_tables = {}


def learning_rate(step, peak, final, n_warmup, n_steps):
    key = n_warmup, n_steps
    if key not in _tables:
        up = [peak * (i + 1) / n_warmup for i in range(n_warmup)]
        n = n_steps - 1 - n_warmup
        down = [final + (peak - final) * (1 + math.cos(math.pi * i / n)) / 2 for i in range(n + 1)]
        _tables[key] = up + down
    return _tables[key][min(step, n_steps - 1)]
