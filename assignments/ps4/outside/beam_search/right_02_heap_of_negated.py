# negative sums sort the right way round with plain tuples

import math
import heapq


def beam_search(next_log_probs, n_beams, eos_id, max_length, alpha):
    live, done = [(0.0, ())], []
    while live:
        def every():
            for cost, ids in live:
                for i, lp in enumerate(next_log_probs(ids).tolist()):
                    if not math.isinf(lp):
                        yield cost - lp, ids + (i,)

        kept = heapq.nsmallest(n_beams, every())
        done += [k for k in kept if k[1][-1] == eos_id or len(k[1]) == max_length]
        live = [k for k in kept if not (k[1][-1] == eos_id or len(k[1]) == max_length)]
    scored = [(cost / ((5 + len(ids)) / 6) ** alpha, ids) for cost, ids in done]
    return [(0.0 - cost, ids) for cost, ids in heapq.nsmallest(n_beams, scored)]
