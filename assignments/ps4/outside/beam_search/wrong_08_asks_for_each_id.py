# wrong: asks the model once per id of the vocabulary, not once per beginning (results are right).
# shows: count the calls of next_log_probs.

import math


def beam_search(next_log_probs, n_beams, eos_id, max_length, alpha):
    live, done = [(0.0, ())], []
    V = None
    while live:
        pool = []
        for total, ids in live:
            V = V or len(next_log_probs(ids))
            for i in range(V):
                lp = float(next_log_probs(ids)[i])
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
