# wrong: stops when the n_beams-th complete SCORE is above the best live SUM. True for alpha = 0; with alpha > 0 the live sum shrinks by its penalty.
# shows: alpha > 0, where a long text overtakes.

import math


def beam_search(next_log_probs, n_beams, eos_id, max_length, alpha):
    live, done = [(0.0, ())], []
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
        done = sorted(done, key=lambda d: (-d[0], d[1]))[:n_beams]
        if live and len(done) == n_beams and done[-1][0] > live[0][0]:
            break
    return done
