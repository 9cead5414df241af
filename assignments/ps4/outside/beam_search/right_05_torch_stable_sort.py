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
