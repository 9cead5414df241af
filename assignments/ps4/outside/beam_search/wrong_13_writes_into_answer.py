# wrong: adds the sum into the tensor that next_log_probs returned.
# shows: a model that returns the same tensor (or a row of a table) again.

import math


def beam_search(next_log_probs, n_beams, eos_id, max_length, alpha):
    live, done = [(0.0, ())], []
    while live:
        pool = []
        for total, ids in live:
            row = next_log_probs(ids)
            row += total
            pool += [(s, (*ids, i)) for i, s in enumerate(row.tolist()) if s > -math.inf]
        pool.sort(key=lambda e: (-e[0], e[1]))
        live = []
        for total, ids in pool[:n_beams]:
            if ids[-1] == eos_id or len(ids) >= max_length:
                done.append((total / ((5 + len(ids)) / 6) ** alpha, ids))
            else:
                live.append((total, ids))
    return sorted(done, key=lambda d: (-d[0], d[1]))[:n_beams]
