# wrong: of the complete texts only the n_beams with the best SUMS are kept; their scores are compared afterwards.
# shows: alpha > 0 and more than n_beams complete texts, where a long one has a bad sum and a good score.

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
        kept = pool[:n_beams]
        is_done = lambda ids: ids[-1] == eos_id or len(ids) >= max_length
        live = [e for e in kept if not is_done(e[1])]
        done += [e for e in kept if is_done(e[1])]
        done = sorted(done, key=lambda e: (-e[0], e[1]))[:n_beams]
    scored = [(total / ((5 + len(ids)) / 6) ** alpha, ids) for total, ids in done]
    return sorted(scored, key=lambda d: (-d[0], d[1]))
