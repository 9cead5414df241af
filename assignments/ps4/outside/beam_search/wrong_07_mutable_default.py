# wrong: a mutable default argument keeps the complete texts of earlier calls.
# shows: the second call returns texts of the first one.

import math


def beam_search(next_log_probs, n_beams, eos_id, max_length, alpha, done=[]):
    live = [(0.0, ())]
    while live:
        pool = []
        for total, ids in live:
            for i, lp in enumerate(next_log_probs(ids).tolist()):
                if lp > -math.inf:
                    pool.append((total + lp, (*ids, i)))
        pool.sort(key=lambda e: (-e[0], e[1]))
        live = []
        for total, ids in pool[:n_beams]:
            if ids[-1] == eos_id or len(ids) >= max_length:
                done.append((total / ((5 + len(ids)) / 6) ** alpha, ids))
            else:
                live.append((total, ids))
    return sorted(done, key=lambda d: (-d[0], d[1]))[:n_beams]
