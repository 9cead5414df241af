# wrong: a beginning that has no possible extension is put aside as if it were complete.
# shows: next_log_probs that returns -inf everywhere for some beginning; that beginning must vanish.

import math


def beam_search(next_log_probs, n_beams, eos_id, max_length, alpha):
    live, done = [(0.0, ())], []

    def put_aside(total, ids):
        done.append((total / ((5 + len(ids)) / 6) ** alpha, ids))

    while live:
        pool = []
        for total, ids in live:
            possible = [(total + lp, (*ids, i)) for i, lp in enumerate(next_log_probs(ids).tolist()) if lp > -math.inf]
            if not possible:
                put_aside(total, ids)
            pool += possible
        pool.sort(key=lambda e: (-e[0], e[1]))
        live = []
        for total, ids in pool[:n_beams]:
            if ids[-1] == eos_id or len(ids) >= max_length:
                put_aside(total, ids)
            else:
                live.append((total, ids))
    return sorted(done, key=lambda d: (-d[0], d[1]))[:n_beams]
