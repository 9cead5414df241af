# wrong: sorts by the sum only; of equal sums the one from the better beginning wins, not the one whose ids come first.
# shows: extensions of DIFFERENT beginnings with equal sums, e.g. 1 (1/2) then 1/4 and 0 (1/4) then 1/2, at the edge of the beam.

import math


def beam_search(next_log_probs, n_beams, eos_id, max_length, alpha):
    live, done = [(0.0, ())], []
    while live:
        extensions = []
        for total, ids in live:
            for i, lp in enumerate(next_log_probs(ids).tolist()):
                if lp != -math.inf:
                    extensions.append((total + lp, (*ids, i)))
        extensions.sort(key=lambda e: -e[0])
        live = []
        for total, ids in extensions[:n_beams]:
            if ids[-1] == eos_id or len(ids) == max_length:
                done.append((total / ((5 + len(ids)) / 6) ** alpha, ids))
            else:
                live.append((total, ids))
    return sorted(done, key=lambda d: (-d[0], d[1]))[:n_beams]
