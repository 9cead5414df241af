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
