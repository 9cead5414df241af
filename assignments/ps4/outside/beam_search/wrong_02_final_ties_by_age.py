# wrong: complete texts of equal score stand in the order in which they were found, not in the order of their ids.
# shows: two complete texts of one score, found in different steps: (1, 0) at step 2, (0-like smaller ids) at step 3.

import math


def beam_search(next_log_probs, n_beams, eos_id, max_length, alpha):
    live, done = [(0.0, ())], []
    for _ in range(max_length):
        extensions = [
            (total + lp, (*ids, i))
            for total, ids in live
            for i, lp in enumerate(next_log_probs(ids).tolist())
            if lp > -math.inf
        ]
        extensions.sort(key=lambda e: (-e[0], e[1]))
        live = []
        for total, ids in extensions[:n_beams]:
            if ids[-1] == eos_id or len(ids) == max_length:
                done.append((total / ((5 + len(ids)) / 6) ** alpha, ids))
            else:
                live.append((total, ids))
    done.sort(key=lambda d: d[0], reverse=True)
    return done[:n_beams]
