# right: calls itself with the next live beginnings; heapq.nsmallest picks by negated sum and ids
import heapq
import math
from itertools import chain


def beam_search(next_log_probs, n_beams, eos_id, max_length, alpha):
    def extensions(loss, ids):
        rows = next_log_probs(ids).tolist()
        return [(loss - lp, ids + (i,)) for i, lp in enumerate(rows) if not math.isinf(lp)]

    def complete_from(live):
        if not live:
            return
        kept = heapq.nsmallest(n_beams, chain.from_iterable(extensions(*pair) for pair in live))
        going_on = []
        for loss, ids in kept:
            if eos_id == ids[-1] or max_length == len(ids):
                yield loss / ((5 + len(ids)) / 6) ** alpha, ids
            else:
                going_on.append((loss, ids))
        yield from complete_from(going_on)

    best = heapq.nsmallest(n_beams, complete_from([(0.0, ())]))
    return [(0.0 - loss, ids) for loss, ids in best]
