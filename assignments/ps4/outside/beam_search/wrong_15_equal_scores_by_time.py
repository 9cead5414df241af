# wrong: sorts complete texts by score alone, so equal ones stay in the order in which they were found; breaks "If two sums, or two scores, are equal, the one whose ids come first in Python's order of tuples is better."
# shows: three beams, alpha = 0, eos 2, max_length 2; p after () is (1/2, 1/4, 1/4), after (0,) and (1,) (0, 0, 1/2): (2,) comes before (0, 2), though both have 1/4
import math


def beam_search(next_log_probs, n_beams, eos_id, max_length, alpha):
    live, done = [(0.0, ())], []
    while live:
        found = []
        for total, ids in live:
            for i, lp in enumerate(next_log_probs(ids).tolist()):
                if lp != -math.inf:
                    found.append((total + lp, (*ids, i)))
        found.sort(key=lambda pair: (-pair[0], pair[1]))
        live = []
        for total, ids in found[:n_beams]:
            if ids[-1] == eos_id or len(ids) == max_length:
                done.append((total / ((5 + len(ids)) / 6) ** alpha, ids))
            else:
                live.append((total, ids))
    done.sort(key=lambda pair: pair[0], reverse=True)
    return done[:n_beams]
