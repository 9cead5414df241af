# wrong: complete texts take places in the beam: the beam gets narrower with each of them.
# shows: n_beams >= 2, after the first complete text; a model whose better text comes from the second live beginning.

import math


def beam_search(next_log_probs, n_beams, eos_id, max_length, alpha):
    live, done = [(0.0, ())], []
    while live and len(done) < n_beams:
        pool = []
        for total, ids in live:
            for i, lp in enumerate(next_log_probs(ids).tolist()):
                if lp > -math.inf:
                    pool.append((total + lp, (*ids, i)))
        pool.sort(key=lambda e: (-e[0], e[1]))
        live, room = [], n_beams - len(done)
        for total, ids in pool[:room]:
            if ids[-1] == eos_id or len(ids) >= max_length:
                done.append((total / ((5 + len(ids)) / 6) ** alpha, ids))
            else:
                live.append((total, ids))
    return sorted(done, key=lambda d: (-d[0], d[1]))
