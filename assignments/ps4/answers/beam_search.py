# %% right: Does one step, and calls itself for the rest.
def beam_search(next_log_probs, n_beams, eos_id, max_length, alpha):
    def complete(live, length):
        if not live or length > max_length:
            return []
        longer = {}
        for ids, log_prob in live.items():
            for i, step in enumerate(next_log_probs(ids).tolist()):
                if math.isfinite(step):
                    longer[(*ids, i)] = log_prob + step
        best = sorted(longer, key=lambda ids: (-longer[ids], ids))[:n_beams]
        ended = [ids for ids in best if ids[-1] == eos_id or length == max_length]
        rest = {ids: longer[ids] for ids in best if ids not in ended}
        penalty = math.pow((5 + length) / 6, alpha)
        return [(longer[ids] / penalty, ids) for ids in ended] + complete(rest, length + 1)

    return sorted(complete({(): 0.0}, 1), key=lambda found: (-found[0], found[1]))[:n_beams]


# %% right: Lets a heap choose the best.
import heapq


def beam_search(next_log_probs, n_beams, eos_id, max_length, alpha):
    live, finished = [(0.0, ())], []
    for _ in range(max_length):
        longer = (
            (-(log_prob + float(step)), (*ids, i))
            for log_prob, ids in live
            for i, step in enumerate(next_log_probs(ids))
            if torch.isfinite(step)
        )
        live = []
        for cost, ids in heapq.nsmallest(n_beams, longer):
            if ids[-1] == eos_id or len(ids) == max_length:
                heapq.heappush(finished, (cost / ((5 + len(ids)) / 6) ** alpha, ids))
            else:
                live.append((-cost, ids))
    return [(-cost, ids) for cost, ids in heapq.nsmallest(n_beams, finished)]


# %% right: Scores all extensions as one tensor; the beginnings stay in the order of their ids.
def beam_search(next_log_probs, n_beams, eos_id, max_length, alpha):
    texts, sums, finished = [()], torch.zeros(1, dtype=torch.float64), []
    for length in range(1, max_length + 1):
        if not texts:
            break
        steps = torch.stack([next_log_probs(ids) for ids in texts]).double()
        flat = (sums[:, None] + steps).flatten()
        order = flat.argsort(descending=True, stable=True)[:n_beams]
        order = order[flat[order].isfinite()].sort().values
        n_ids = steps.shape[1]
        longer = [((*texts[k // n_ids], k % n_ids), flat[k]) for k in order.tolist()]
        kept = []
        for ids, total in longer:
            if length == max_length or ids[-1] == eos_id:
                finished.append((float(total) / ((5 + length) / 6) ** alpha, ids))
            else:
                kept.append((ids, total))
        texts = [ids for ids, _ in kept]
        sums = torch.stack([total for _, total in kept]) if kept else sums[:0]
    return sorted(finished, key=lambda pair: (-pair[0], pair[1]))[:n_beams]


# %% right: Stops when no live beginning can become better than what is complete.
def beam_search(next_log_probs, n_beams, eos_id, max_length, alpha):
    live, finished = [(0.0, ())], []
    length = 0
    while live and length < max_length:
        length += 1
        longer = []
        for log_prob, ids in live:
            for i, step in enumerate(next_log_probs(ids).tolist()):
                if step != -math.inf:
                    longer.append((log_prob + step, (*ids, i)))
        best = sorted(longer, key=lambda text: (-text[0], text[1]))[:n_beams]
        is_over = [ids[-1] == eos_id or length == max_length for _, ids in best]
        live = [text for text, over in zip(best, is_over, strict=True) if not over]
        for (log_prob, ids), over in zip(best, is_over, strict=True):
            if over:
                finished.append((log_prob / ((5 + length) / 6) ** alpha, ids))
        finished = sorted(finished, key=lambda text: (-text[0], text[1]))[:n_beams]
        if live and len(finished) == n_beams:
            bound = max(log_prob for log_prob, _ in live) / ((5 + max_length) / 6) ** alpha
            if bound < finished[-1][0]:
                break
    return finished


# %% right: Sorts with NumPy, by three keys.
import numpy as np


def beam_search(next_log_probs, n_beams, eos_id, max_length, alpha):
    live, finished = {(): 0.0}, {}
    for length in range(1, max_length + 1):
        rows = [(ids, np.asarray(next_log_probs(ids))) for ids in live]
        texts = [(*ids, i) for ids, row in rows for i in range(len(row))]
        sums = np.concatenate([live[ids] + row for ids, row in rows]) if rows else np.zeros(0)
        ranks = {text: rank for rank, text in enumerate(sorted(texts))}
        order = np.lexsort(([ranks[text] for text in texts], -sums))[:n_beams]
        live = {}
        for place in order:
            text, total = texts[place], float(sums[place])
            if total == -np.inf:
                continue
            if text[-1] == eos_id or length == max_length:
                finished[text] = total / ((5 + length) / 6) ** alpha
            else:
                live[text] = total
    best = sorted(finished.items(), key=lambda item: (-item[1], item[0]))[:n_beams]
    return [(score, text) for text, score in best]


# %% right: Keeps short sorted lists, into which each extension is put at its place.
def beam_search(next_log_probs, n_beams, eos_id, max_length, alpha):
    def put(row, entry):
        place = len(row)
        while place and entry < row[place - 1]:
            place -= 1
        row.insert(place, entry)
        del row[n_beams:]

    live, finished = [(0.0, ())], []
    for length in range(1, max_length + 1):
        best = []
        for cost, ids in live:
            for i, step in enumerate(next_log_probs(ids).tolist()):
                if step > float("-inf"):
                    put(best, (cost - step, (*ids, i)))
        live = []
        for cost, ids in best:
            if length < max_length and ids[-1] != eos_id:
                live.append((cost, ids))
            else:
                put(finished, (cost / ((5 + length) / 6) ** alpha, ids))
    return [(-cost, ids) for cost, ids in finished]


# %% right: plain lists
import math


def beam_search(next_log_probs, n_beams, eos_id, max_length, alpha):
    def order(pair):
        return -pair[0], pair[1]

    live, complete = [(0.0, ())], []
    while live:
        extensions = []
        for total, ids in live:
            for i, log_prob in enumerate(next_log_probs(ids).tolist()):
                if log_prob != -math.inf:
                    extensions.append((total + log_prob, (*ids, i)))
        live = []
        for total, ids in sorted(extensions, key=order)[:n_beams]:
            if ids[-1] == eos_id or len(ids) == max_length:
                complete.append((total / ((5 + len(ids)) / 6) ** alpha, ids))
            else:
                live.append((total, ids))
    return sorted(complete, key=order)[:n_beams]


# %% right: heap of negated
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


# %% right: beam kept in order of ids
# the live beginnings stand in the order of their ids, so a stable sort by the sum alone keeps the rule for ties

def beam_search(next_log_probs, n_beams, eos_id, max_length, alpha):
    live, done = [((), 0.0)], []
    for n in range(1, max_length + 1):
        rows = [next_log_probs(ids).tolist() for ids, _ in live]
        grown = [
            (ids + (i,), total + lp)
            for (ids, total), row in zip(live, rows)
            for i, lp in enumerate(row)
            if lp > float("-inf")
        ]
        kept = sorted(grown, key=lambda g: g[1], reverse=True)[:n_beams]
        kept.sort(key=lambda g: g[0])
        penalty = ((5 + n) / 6) ** alpha
        live = []
        for ids, total in kept:
            if ids[-1] == eos_id or n == max_length:
                done.append((total / penalty, ids))
            else:
                live.append((ids, total))
        if not live:
            break
    done.sort(key=lambda d: d[1])
    done.sort(key=lambda d: d[0], reverse=True)
    return done[:n_beams]


# %% right: dataclass
from dataclasses import dataclass


@dataclass(frozen=True)
class Beam:
    total: float = 0.0
    ids: tuple = ()

    def grow(self, log_probs):
        for i, lp in enumerate(log_probs):
            if lp != float("-inf"):
                yield Beam(self.total + lp, (*self.ids, i))

    def score(self, alpha):
        return self.total / ((5 + len(self.ids)) / 6) ** alpha


def beam_search(next_log_probs, n_beams, eos_id, max_length, alpha):
    live, done = [Beam()], []
    while live:
        grown = [g for beam in live for g in beam.grow(next_log_probs(beam.ids).detach().tolist())]
        grown.sort(key=lambda b: (-b.total, b.ids))
        kept = grown[:n_beams]
        done.extend(b for b in kept if b.ids[-1] == eos_id or len(b.ids) >= max_length)
        live = [b for b in kept if b.ids[-1] != eos_id and len(b.ids) < max_length]
    result = [(float(b.score(alpha)), b.ids) for b in done]
    result.sort(key=lambda r: (-r[0], r[1]))
    return result[:n_beams]


# %% right: torch stable sort
# one tensor of all sums per step, in float64; beginnings in the order of their ids, stable sort

import math
import torch


def beam_search(next_log_probs, n_beams, eos_id, max_length, alpha):
    live, done = [(0.0, ())], []
    while live:
        live.sort(key=lambda pair: pair[1])
        table = torch.stack([next_log_probs(ids).detach().double() + total for total, ids in live])
        V = table.shape[1]
        sums, places = torch.sort(table.flatten(), descending=True, stable=True)
        old, live = live, []
        for total, place in zip(sums[:n_beams].tolist(), places[:n_beams].tolist()):
            if total == -math.inf:
                continue
            ids = (*old[place // V][1], place % V)
            if ids[-1] == eos_id or len(ids) == max_length:
                done.append((total / math.pow((5 + len(ids)) / 6, alpha), ids))
            else:
                live.append((total, ids))
    return sorted(done, key=lambda d: (-d[0], d[1]))[:n_beams]


# %% right: heap and recursion
# calls itself with the next live beginnings; heapq.nsmallest picks by negated sum and ids
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


# %% wrong: stable sort without ids
# sorts by the sum only; of equal sums the one from the better beginning wins, not the one whose ids come first.
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


# %% wrong: final ties by age
# complete texts of equal score stand in the order in which they were found, not in the order of their ids.
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


# %% wrong: stops when beam is full
# stops as soon as n_beams texts are complete, though a better one may still come.
# shows: n_beams = 1 is fine; with 2 beams and a positive alpha, or a sure live beginning, a later text is better.

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
        live = []
        for total, ids in pool[:n_beams]:
            if ids[-1] == eos_id or len(ids) >= max_length:
                done.append((total / ((5 + len(ids)) / 6) ** alpha, ids))
            else:
                live.append((total, ids))
    return sorted(done, key=lambda d: (-d[0], d[1]))[:n_beams]


# %% wrong: bound without penalty
# stops when the n_beams-th complete SCORE is above the best live SUM. True for alpha = 0; with alpha > 0 the live sum shrinks by its penalty.
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


# %% wrong: minus 1e9 is impossible
# takes every log probability below -1e4 for impossible; only -inf is.
# shows: finite log probabilities such as -20000.

def beam_search(next_log_probs, n_beams, eos_id, max_length, alpha):
    live, done = [(0.0, ())], []
    while live:
        pool = []
        for total, ids in live:
            for i, lp in enumerate(next_log_probs(ids).tolist()):
                if lp > -1e4:
                    pool.append((total + lp, (*ids, i)))
        pool.sort(key=lambda e: (-e[0], e[1]))
        live = []
        for total, ids in pool[:n_beams]:
            if ids[-1] == eos_id or len(ids) >= max_length:
                done.append((total / ((5 + len(ids)) / 6) ** alpha, ids))
            else:
                live.append((total, ids))
    return sorted(done, key=lambda d: (-d[0], d[1]))[:n_beams]


# %% wrong: dead end is complete
# a beginning that has no possible extension is put aside as if it were complete.
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


# %% wrong: mutable default
# a mutable default argument keeps the complete texts of earlier calls.
# shows: the second call returns texts of the first one.

import math


def beam_search(next_log_probs, n_beams, eos_id, max_length, alpha, done=[]):
    live = [(0.0, ())]
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
    return sorted(done, key=lambda d: (-d[0], d[1]))[:n_beams]


# %% wrong: asks for each id
# asks the model once per id of the vocabulary, not once per beginning (results are right).
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


# %% wrong: best sums survive
# of the complete texts only the n_beams with the best SUMS are kept; their scores are compared afterwards.
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


# %% wrong: shrinking beam
# complete texts take places in the beam: the beam gets narrower with each of them.
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


# %% wrong: penalty without eos
# the eos at the end is not counted in the length for the penalty.
# shows: alpha > 0 and a text that ends with eos.

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
                n = sum(i != eos_id for i in ids)
                done.append((total / ((5 + n) / 6) ** alpha, ids))
            else:
                live.append((total, ids))
    return sorted(done, key=lambda d: (-d[0], d[1]))[:n_beams]


# %% wrong: writes into answer
# adds the sum into the tensor that next_log_probs returned.
# shows: a model that returns the same tensor (or a row of a table) again.

import math


def beam_search(next_log_probs, n_beams, eos_id, max_length, alpha):
    live, done = [(0.0, ())], []
    while live:
        pool = []
        for total, ids in live:
            row = next_log_probs(ids)
            row += total
            pool += [(s, (*ids, i)) for i, s in enumerate(row.tolist()) if s > -math.inf]
        pool.sort(key=lambda e: (-e[0], e[1]))
        live = []
        for total, ids in pool[:n_beams]:
            if ids[-1] == eos_id or len(ids) >= max_length:
                done.append((total / ((5 + len(ids)) / 6) ** alpha, ids))
            else:
                live.append((total, ids))
    return sorted(done, key=lambda d: (-d[0], d[1]))[:n_beams]


# %% wrong: stops when today looks hopeless
# stops as soon as no live beginning, scored at its length of today, beats the worst of n_beams complete texts, though a longer text is divided by more; breaks "do not stop ...: a better one may still come" / "until no beginning is live"
# shows: two beams, eos 0, max_length 3, alpha 3; p after () is (0.5, 0.5), after (1,) (0.5, 0.45), after (1, 1) (1, 0): the best text, (1, 1, 0), is never reached
import math


def beam_search(next_log_probs, n_beams, eos_id, max_length, alpha):
    def score(total, n):
        return total / ((5 + n) / 6) ** alpha

    live, done = [(0.0, ())], []
    while live:
        found = []
        for total, ids in live:
            for i, lp in enumerate(next_log_probs(ids).tolist()):
                if lp > -math.inf:
                    found.append((total + lp, (*ids, i)))
        found = sorted(found, key=lambda pair: (-pair[0], pair[1]))[:n_beams]
        live = []
        for total, ids in found:
            if ids[-1] == eos_id or len(ids) == max_length:
                done.append((score(total, len(ids)), ids))
            else:
                live.append((total, ids))
        done = sorted(done, key=lambda pair: (-pair[0], pair[1]))[:n_beams]
        if live and len(done) == n_beams and score(live[0][0], len(live[0][1])) < done[-1][0]:
            break
    return done


# %% wrong: equal scores by time
# sorts complete texts by score alone, so equal ones stay in the order in which they were found; breaks "If two sums, or two scores, are equal, the one whose ids come first in Python's order of tuples is better."
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


# %% wrong: a floor for log-probabilities
# what is less likely than -1e9 is taken for impossible.
# shows: a log-probability of -2e9.
def beam_search(next_log_probs, n_beams, eos_id, max_length, alpha):
    live, finished = [(0.0, ())], []
    for length in range(1, max_length + 1):
        longer = []
        for log_prob, ids in live:
            steps = next_log_probs(ids).tolist()
            longer += [(log_prob + p, (*ids, i)) for i, p in enumerate(steps) if p > -1e9]
        longer.sort(key=lambda text: (-text[0], text[1]))
        live = []
        for log_prob, ids in longer[:n_beams]:
            if ids[-1] == eos_id or length == max_length:
                finished.append((log_prob / ((5 + len(ids)) / 6) ** alpha, ids))
            else:
                live.append((log_prob, ids))
    finished.sort(key=lambda text: (-text[0], text[1]))
    return finished[:n_beams]


# %% wrong: calls the model by keyword
# the ids are handed to the model by keyword.
# shows: a model whose parameter has another name.
import math


def beam_search(next_log_probs, n_beams, eos_id, max_length, alpha):
    live, finished = [(0.0, ())], []
    for length in range(1, max_length + 1):
        longer = []
        for log_prob, ids in live:
            steps = next_log_probs(ids=ids).tolist()
            longer += [(log_prob + p, (*ids, i)) for i, p in enumerate(steps) if p > -math.inf]
        longer.sort(key=lambda text: (-text[0], text[1]))
        live = []
        for log_prob, ids in longer[:n_beams]:
            if ids[-1] == eos_id or length == max_length:
                finished.append((log_prob / ((5 + len(ids)) / 6) ** alpha, ids))
            else:
                live.append((log_prob, ids))
    finished.sort(key=lambda text: (-text[0], text[1]))
    return finished[:n_beams]


# %% wrong: sums equal to six places are ties
# The better of two that differ by a hair loses.
# shows: log probabilities -1 and -1 + 2**-34
def beam_search(next_log_probs, n_beams, eos_id, max_length, alpha):
    """Search for texts with a good score along several beginnings at once."""

    def best(texts):
        return sorted(texts, key=lambda text: (-round(text[0], 6), text[1]))[:n_beams]

    live, complete = ([(0.0, ())], [])
    for length in range(1, max_length + 1):
        penalty = ((5 + length) / 6) ** alpha
        extensions = []
        for total, ids in live:
            for i, step in enumerate(next_log_probs(ids).tolist()):
                if step > -math.inf:
                    extensions.append((total + step, (*ids, i)))
        live = []
        for total, ids in best(extensions):
            if ids[-1] == eos_id or length == max_length:
                complete.append((total / penalty, ids))
            else:
                live.append((total, ids))
    return best(complete)

# %% wrong: scores in float32
# The search is right, and its scores have seven digits.
# shows: any score that float32 does not hold
def beam_search(next_log_probs, n_beams, eos_id, max_length, alpha):
    """Search for texts with a good score along several beginnings at once."""

    def best(texts):
        return sorted(texts, key=lambda text: (-text[0], text[1]))[:n_beams]

    live, complete = ([(0.0, ())], [])
    for length in range(1, max_length + 1):
        penalty = ((5 + length) / 6) ** alpha
        extensions = []
        for total, ids in live:
            for i, step in enumerate(next_log_probs(ids).tolist()):
                if step > -math.inf:
                    extensions.append((total + step, (*ids, i)))
        live = []
        for total, ids in best(extensions):
            if ids[-1] == eos_id or length == max_length:
                complete.append((total / penalty, ids))
            else:
                live.append((total, ids))
    return [(torch.tensor(score).float().item(), ids) for score, ids in best(complete)]
